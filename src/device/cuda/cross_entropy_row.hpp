// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cross_entropy_plan.hpp"
#include "device/cuda/cross_entropy_sums.hpp"
#include "device/cuda/elements.hpp"
#include "device/cuda/tokens.hpp"

// A row of logits as a whole: which label it has, and what its sums come to. One thread of a block does this, in
// double.
namespace tokavg::cuda {

enum class RowKind : std::int32_t { kNotScored, kBadLabel, kScored };

// Logits row (r, j), which belongs to label (r, j + shift).
struct Row {
  std::int64_t r = 0;
  std::int64_t j = 0;
  double weight = 0;
  double scale = 0;        // of the gradient; 0 writes zeros, also over NaN
  std::int32_t label = 0;  // from 0
  RowKind kind = RowKind::kNotScored;
};

// gradient_scale: where weights are 1.
__device__ inline Row find_row(const RowsTask& task, double gradient_scale, std::int64_t number) {
  const LabelsView& view = task.ce.labels;
  Row row;
  row.r = number / view.cols;
  row.j = number % view.cols;
  if (view.shift >= view.cols || row.j >= view.cols - view.shift) return row;
  const std::int64_t c = row.j + view.shift;
  const std::int64_t label = label_at(view, row.r, c);
  const bool unmasked = is_unmasked(view, row.r, c);
  if (label == view.ignore_index || !unmasked) return row;
  row.weight = weight_at(view, row.r, c);
  const bool is_class = label >= view.label_base && label - view.label_base < task.plan.vocab;
  row.kind = is_class ? RowKind::kScored : RowKind::kBadLabel;
  if (!is_class) return row;
  row.label = static_cast<std::int32_t>(label - view.label_base);
  row.scale = row.weight * gradient_scale;
  return row;
}

template <typename Stored>
__device__ inline Stored* row_at(const ArrayView& array, const Row& row) {
  return static_cast<Stored*>(array.data) + element(array, row.r, row.j);
}

// What the sums of a row come to.
struct RowEnd {
  double others = 0;    // sum over the classes but the label of exp(x - reference)
  double x_sum = 0;     // of all classes
  double logit = 0;     // the label's
  double x = 0;         // the label's
  float reference = 0;  // the largest of the others; -infinity: they have no probability
  std::int32_t best_column = 0;
  bool nan = false;  // one of the others is
  bool far = false;  // the sums were taken too far from the largest, and must be taken again: see ChunkSums
  // The gradient: factor * exp(x_k - base) / 2^exponent - flat, times the slope of the cap, and the label's; or one
  // value.
  bool filled = false;
  float base = 0;
  std::int32_t exponent = 0;
  float factor = 0;
  float minus_flat = 0;
  double of_label = 0;
};

inline constexpr double kLog2EDouble = 0x1.71547652b82fep0;
inline constexpr double kLn2Double = 0x1.62e42fefa39efp-1;

// Beyond, x log2 e loses digits, and in the end has none after the point.
inline constexpr float kFarthest = 1024.0F;

__device__ inline bool is_far(float largest) {
  return std::fabs(largest) > kFarthest && std::fabs(largest) < kInfinity;
}

__device__ inline void set_others(const RowSums& sums, float base, RowEnd& end) {
  end.nan = std::isnan(sums.sum);
  end.others = 0;
  if (end.reference == -kInfinity) return;
  const auto above = static_cast<double>(base) - static_cast<double>(end.reference);
  end.others = sums.sum * std::exp(above + sums.exponent * kLn2Double);
}

// After the first pass; end.logit is there.
template <typename CapKind>
__device__ inline void begin_end(const Row& row, const RowSums& sums, const CapKind& cap, RowEnd& end) {
  end.x = cap.apply(end.logit);
  end.x_sum = sums.x_sum / static_cast<double>(kSmaller) + end.x;
  end.reference = sums.largest;
  end.far = is_far(sums.largest);
  set_others(sums, 0, end);
  const auto logit = static_cast<float>(end.logit);
  const bool label_is_best = logit == logit && is_better(logit, row.label, sums.best, sums.best_column);
  end.best_column = label_is_best ? row.label : sums.best_column < 0 ? 0 : sums.best_column;
}

// A NaN logit makes all of it NaN, and so does an infinite largest x: the differences are then undefined.
__device__ inline bool is_nan(const RowEnd& end) {
  constexpr auto kInfinite = static_cast<double>(kInfinity);
  return end.nan || std::isnan(end.x) || end.reference == kInfinity || end.x == kInfinite ||
         (end.reference == -kInfinity && end.x == -kInfinite);
}

}  // namespace tokavg::cuda
