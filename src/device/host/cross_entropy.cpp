// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "device/host/kernels.hpp"
#include "device/host/record.hpp"
#include "device/host/reference/reference.hpp"
#include "device/host/tokens.hpp"
#include "device/host/values.hpp"

namespace tokavg::host {
namespace {

// Logits that are worth waking a thread for.
constexpr std::int64_t kGrain = std::int64_t{1} << 15;

void add(const Recorded& from, Recorded& to) {
  to.tokens += from.tokens;
  to.nonfinite += from.nonfinite;
  to.sum.add(from.sum);
}

// The rows of logits are spread over the workers. What each of them computes and adds does not depend on which one it
// is.
class CrossEntropyRows {
 public:
  CrossEntropyRows(const CrossEntropy& ce, const RowKernels& kernels, Workers& workers, RowScratch& scratch)
      : ce_(ce),
        kernels_(kernels),
        workers_(workers),
        tokens_(ce.labels),
        losses_(ce.losses),
        lse_(ce.lse),
        argmax_(ce.argmax),
        scratch_(scratch),
        recorded_(workers.count()) {
    tokens_.check_labels(ce.vocab);
    tokens_.check_weights();
    scratch_.reserve(ce, kernels, workers.count());
  }

  Recorded run() {
    const std::int64_t rows = ce_.labels.rows * ce_.labels.cols;
    workers_.run(rows, std::max<std::int64_t>(1, kGrain / ce_.vocab),
                 [this](std::size_t worker, std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     visit(row / ce_.labels.cols, row % ce_.labels.cols, worker);
                   }
                 });
    for (std::size_t worker = 1; worker < recorded_.size(); ++worker) add(recorded_[worker], recorded_[0]);
    return recorded_[0];
  }

 private:
  // The row of logits (r, j), which belongs to label (r, j + shift).
  void visit(std::int64_t r, std::int64_t j, std::size_t worker) {
    const std::int64_t shift = ce_.labels.shift;
    if (j < shift) losses_.set(r, j, 0.0F);  // labels at the left have no logits, logits at the right no labels
    const bool labelled = shift < ce_.labels.cols && j < ce_.labels.cols - shift;
    if (labelled && tokens_.scored(r, j + shift)) return score(r, j, worker);
    if (labelled) losses_.set(r, j + shift, 0.0F);
    // The logits are not read.
    if (ce_.gradient) store_zeros(ce_.vocab, ce_.gradient.dtype, at(ce_.gradient, r, j));
    lse_.set(r, j, 0.0F);
    argmax_.set(r, j, -1);
  }

  void score(std::int64_t r, std::int64_t j, std::size_t worker) {
    const std::int64_t c = j + ce_.labels.shift;
    const double w = tokens_.weight(r, c);
    RowTask task;
    task.ce = &ce_;
    task.logits = at(ce_.logits, r, j);
    task.gradient = ce_.gradient ? at(ce_.gradient, r, j) : nullptr;
    task.label = tokens_.label(r, c) - ce_.labels.label_base;
    task.scale = w * ce_.factor;
    scratch_.lend(worker, task);
    if (ce_.argmax) {  // before the gradient may overwrite the logits
      const auto largest = static_cast<std::int32_t>(kernels_.largest(task.logits, ce_.vocab));
      argmax_.set(r, j, largest + ce_.labels.label_base);
    }
    const RowResult row = kernels_.evaluate(task);
    const auto loss = static_cast<float>(row.loss);
    record(w, static_cast<double>(loss), recorded_[worker]);
    losses_.set(r, c, loss);
    lse_.set(r, j, static_cast<float>(row.lse));
  }

  static void* at(const ArrayView& array, std::int64_t r, std::int64_t j) {
    const std::int64_t element = r * array.row_stride + j * array.col_stride;
    return static_cast<std::byte*>(array.data) + element * static_cast<std::int64_t>(size_of(array.dtype));
  }

  const CrossEntropy& ce_;
  const RowKernels& kernels_;
  Workers& workers_;
  Tokens tokens_;
  Output<float> losses_;
  Output<float> lse_;
  Output<std::int32_t> argmax_;
  RowScratch& scratch_;
  std::vector<Recorded> recorded_;  // by each worker
};

}  // namespace

void RowScratch::reserve(const CrossEntropy& ce, const RowKernels& kernels, std::size_t workers) {
  const std::int64_t blocks = (ce.vocab + kBlockColumns - 1) / kBlockColumns;
  const bool keeps = ce.gradient && ce.logits.dtype != TOKAVG_DTYPE_F32;
  blocks_ = static_cast<std::size_t>(ce.gradient ? blocks : 0);
  columns_ = static_cast<std::size_t>(keeps ? blocks * kBlockColumns : 0);
  worker_doubles_ = static_cast<std::size_t>(ce.vocab * kernels.doubles);
  if (floats_.size() < (blocks_ + columns_) * workers) floats_.resize((blocks_ + columns_) * workers);
  if (doubles_.size() < worker_doubles_ * workers) doubles_.resize(worker_doubles_ * workers);
}

void RowScratch::lend(std::size_t worker, RowTask& task) noexcept {
  task.references = floats_.data() + worker * (blocks_ + columns_);
  task.exps = task.references + blocks_;
  task.doubles = doubles_.data() + worker * worker_doubles_;
}

RowKernels row_kernels(const SimdKernels& simd, const CrossEntropy& ce) {
  // Beyond, 1 / cap or cap * tanh leave the range of float.
  const bool float_can_cap = ce.softcap == 0 || (ce.softcap >= 0x1p-60 && ce.softcap <= 0x1p60);
  if (!float_can_cap) return reference::row_kernels(ce.logits.dtype);
  switch (ce.logits.dtype) {
    case TOKAVG_DTYPE_F32: return simd.row_f32;
    case TOKAVG_DTYPE_BF16: return simd.row_bf16;
    case TOKAVG_DTYPE_F16: return simd.row_f16;
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is no type of logits", ce.logits.dtype);
  }
}

Recorded cross_entropy(const CrossEntropy& ce, const RowKernels& kernels, Workers& workers, RowScratch& scratch) {
  return CrossEntropyRows(ce, kernels, workers, scratch).run();
}

}  // namespace tokavg::host
