// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "base/error.hpp"
#include "device/host/reference/reference.hpp"
#include "device/host/values.hpp"

namespace tokavg::host::reference {
namespace {

// What the gradient needs to know of the row. x are the logits, capped where there is a cap.
//
// A NaN logit makes all of it NaN, and so does an infinite largest x: the differences are then undefined.
struct Row {
  std::size_t label = 0;
  double lse = 0;
  double loss = 0;
  double exp_sum = 0;         // of exp(x_k - max x)
  double exp_sum_others = 0;  // the same without the label's, so that p_y - 1 loses no digits where p_y is near 1
};

constexpr std::int64_t kDoubles = 3;  // for each class: its logit, x and exp(x - max)

// NaN is larger than nothing.
bool is_larger(double logit, double than) { return logit > than || (std::isnan(than) && !std::isnan(logit)); }

// The first class with the largest logit.
std::size_t first_largest(std::span<const double> logits) {
  std::size_t largest = 0;
  for (std::size_t k = 1; k < logits.size(); ++k) {
    if (is_larger(logits[k], logits[largest])) largest = k;
  }
  return largest;
}

class CrossEntropyRow {
 public:
  explicit CrossEntropyRow(const RowTask& task)
      : task_(task),
        ce_(*task.ce),
        logits_(task.doubles, static_cast<std::size_t>(ce_.vocab)),
        x_(logits_.data() + logits_.size(), logits_.size()),
        exp_(x_.data() + x_.size(), logits_.size()) {
    load(task.logits, ce_.logits.dtype, logits_);
  }

  RowResult evaluate() {
    const Row row = sum_exps();
    if (task_.gradient != nullptr) write_gradient(row);
    return {row.lse, row.loss};
  }

 private:
  // A part of the loss whose coefficient is 0 is left out: 0 * infinity would be NaN.
  Row sum_exps() {
    Row row;
    row.label = static_cast<std::size_t>(task_.label);
    for (std::size_t k = 0; k < x_.size(); ++k) {
      x_[k] = ce_.softcap != 0 ? ce_.softcap * std::tanh(logits_[k] / ce_.softcap) : logits_[k];
    }
    const std::size_t largest = first_largest(logits_);
    const double max = x_[largest];
    double below_largest = max - max;  // 0, or NaN where the largest is not finite
    double x_sum = 0;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      exp_[k] = std::exp(x_[k] - max);
      if (k != largest) below_largest += exp_[k];
      if (k != row.label) row.exp_sum_others += exp_[k];
      x_sum += x_[k];
    }
    row.exp_sum = 1 + below_largest;
    const double log_sum = std::log1p(below_largest);  // lse - max, with all digits where one class is certain
    row.lse = max + log_sum;
    const double e = ce_.label_smoothing;
    if (e != 1) row.loss += (1 - e) * (log_sum + (max - x_[row.label]));
    if (e != 0) row.loss += e * (log_sum + (max - x_sum / static_cast<double>(ce_.vocab)));
    if (ce_.z_loss != 0) row.loss += ce_.z_loss * row.lse * row.lse;
    return row;
  }

  // dl/dx_k = p_k - (1 - e) [k = y] - e / V + 2 z lse p_k, and dx_k/dlogit_k = 1 - tanh^2 = 1 / cosh^2 under a cap.
  void write_gradient(const Row& row) {
    if (task_.scale == 0) return store_zeros(ce_.vocab, ce_.gradient.dtype, task_.gradient);  // also over NaN
    const double e = ce_.label_smoothing;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const double p = exp_[k] / row.exp_sum;
      double slope = k == row.label ? e - row.exp_sum_others / row.exp_sum : p;
      if (e != 0) slope -= e / static_cast<double>(ce_.vocab);
      if (ce_.z_loss != 0) slope += 2 * ce_.z_loss * row.lse * p;
      if (ce_.softcap != 0) {
        const double sech = 1 / std::cosh(logits_[k] / ce_.softcap);
        slope *= sech * sech;
      }
      x_[k] = slope * task_.scale;
    }
    store(x_, ce_.gradient.dtype, task_.gradient);
  }

  const RowTask& task_;
  const CrossEntropy& ce_;
  std::span<double> logits_;
  std::span<double> x_;
  std::span<double> exp_;
};

RowResult evaluate_row(const RowTask& task) { return CrossEntropyRow(task).evaluate(); }

template <std::int32_t kDtype>
std::int64_t largest_in_row(const void* logits, std::int64_t vocab) {
  const auto* from = static_cast<const std::byte*>(logits);
  std::array<double, 256> block;
  std::int64_t largest = 0;
  double most = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t begin = 0; begin < vocab; begin += static_cast<std::int64_t>(block.size())) {
    const auto n = static_cast<std::size_t>(std::min<std::int64_t>(vocab - begin, block.size()));
    load(from + begin * static_cast<std::int64_t>(size_of(kDtype)), kDtype, {block.data(), n});
    const std::size_t k = first_largest({block.data(), n});
    if (!is_larger(block[k], most)) continue;
    largest = begin + static_cast<std::int64_t>(k);
    most = block[k];
  }
  return largest;
}

}  // namespace

RowKernels row_kernels(std::int32_t dtype) {
  switch (dtype) {
    case TOKAVG_DTYPE_F32: return {evaluate_row, largest_in_row<TOKAVG_DTYPE_F32>, kDoubles};
    case TOKAVG_DTYPE_BF16: return {evaluate_row, largest_in_row<TOKAVG_DTYPE_BF16>, kDoubles};
    case TOKAVG_DTYPE_F16: return {evaluate_row, largest_in_row<TOKAVG_DTYPE_F16>, kDoubles};
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is no type of logits", dtype);
  }
}

}  // namespace tokavg::host::reference
