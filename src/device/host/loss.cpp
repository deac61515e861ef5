// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "device/host/kernels.hpp"
#include "device/host/reference/reference.hpp"
#include "device/host/tokens.hpp"

namespace tokavg::host {
namespace {

constexpr std::int64_t kMostAtOnce = std::int64_t{1} << 30;  // what a kernel may add up without carrying

void add(const FixedParts& parts, Recorded& recorded) {
  const auto one = Int128{1};
  recorded.sum.add_units(parts.high * (one << 64) + parts.middle * (one << 32) + parts.low);
  recorded.nonfinite += parts.out_of_range;
  recorded.tokens += parts.tokens;
}

std::size_t size_of_losses(const ArrayView& losses) {
  return losses.dtype == TOKAVG_DTYPE_F32 ? sizeof(float) : sizeof(double);
}

bool suits_vectors(const TokenLosses& losses) {
  if (losses.losses.col_stride != 1) return false;
  const LabelsView* labels = losses.labels;
  return labels == nullptr || (!labels->mask && !labels->weights && labels_suit_vectors(*labels));
}

SimdKernels::SumLabelled labelled_kernel(const SimdKernels& simd, std::int32_t losses, std::int32_t labels) {
  if (losses == TOKAVG_DTYPE_F32) return labels == TOKAVG_DTYPE_I32 ? simd.sum_f32_i32 : simd.sum_f32_i64;
  return labels == TOKAVG_DTYPE_I32 ? simd.sum_f64_i32 : simd.sum_f64_i64;
}

class Rows {
 public:
  Rows(const TokenLosses& losses, const SimdKernels& simd) : losses_(losses), simd_(simd) {}

  // n neighbours from (r, c) on.
  void add_run(std::int64_t r, std::int64_t c, std::int64_t n, Recorded& recorded) const {
    for (std::int64_t done = 0; done < n; done += kMostAtOnce)
      add_some(r, c + done, std::min(n - done, kMostAtOnce), recorded);
  }

 private:
  void add_some(std::int64_t r, std::int64_t c, std::int64_t n, Recorded& recorded) const {
    const ArrayView& array = losses_.losses;
    const auto size = static_cast<std::int64_t>(size_of_losses(array));
    const auto* values = static_cast<const std::byte*>(array.data) + (r * array.row_stride + c) * size;
    if (losses_.labels == nullptr) {
      FixedParts parts = (array.dtype == TOKAVG_DTYPE_F32 ? simd_.sum_f32 : simd_.sum_f64)(values, n);
      parts.tokens = n;
      return add(parts, recorded);
    }
    const ArrayView& labels = losses_.labels->labels;
    const std::int64_t label_size = labels.dtype == TOKAVG_DTYPE_I32 ? 4 : 8;
    const auto* label = static_cast<const std::byte*>(labels.data) + (r * labels.row_stride + c) * label_size;
    add(labelled_kernel(simd_, array.dtype, labels.dtype)(values, label, n, losses_.labels->ignore_index), recorded);
  }

  const TokenLosses& losses_;
  const SimdKernels& simd_;
};

Recorded in_vectors(const TokenLosses& losses, const SimdKernels& simd) {
  Recorded recorded;
  if (losses.rows == 0 || losses.cols == 0) return recorded;
  const Rows rows(losses, simd);
  const std::int64_t shift = losses.labels != nullptr ? std::min(losses.labels->shift, losses.cols) : 0;
  const bool one_piece = losses.losses.row_stride == losses.cols &&
                         (losses.labels == nullptr || losses.labels->labels.row_stride == losses.cols);
  if (one_piece && shift == 0) {
    rows.add_run(0, 0, losses.rows * losses.cols, recorded);
  } else {
    for (std::int64_t r = 0; r < losses.rows; ++r) rows.add_run(r, shift, losses.cols - shift, recorded);
  }
  return recorded;
}

// Token by token, w * l in blocks that the vectors then add up.
Recorded in_blocks(const TokenLosses& losses, const SimdKernels& simd) {
  const LabelsView& view = *losses.labels;
  const Tokens tokens(view);
  tokens.check_weights();
  const Input<double> loss = reals(losses.losses);
  Recorded recorded;
  std::array<double, 512> block;
  std::size_t filled = 0;
  const auto flush = [&] {
    add(simd.sum_f64(block.data(), static_cast<std::int64_t>(filled)), recorded);
    filled = 0;
  };
  tokens.for_each_scored([&](std::int64_t r, std::int64_t c) {
    const double w = tokens.weight(r, c);
    ++recorded.tokens;
    if (w == 0) return;  // its loss may be anything
    block[filled++] = w * loss(r, c);
    if (filled == block.size()) flush();
  });
  flush();
  return recorded;
}

}  // namespace

Recorded token_losses(const TokenLosses& losses, const SimdKernels& simd) {
  if (suits_vectors(losses)) return in_vectors(losses, simd);
  if (losses.labels != nullptr) return in_blocks(losses, simd);
  return reference::token_losses(losses);
}

}  // namespace tokavg::host
