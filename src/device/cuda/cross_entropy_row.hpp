// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cross_entropy_plan.hpp"
#include "device/cuda/cross_entropy_sums.hpp"
#include "device/cuda/elements.hpp"
#include "device/cuda/multiplier.hpp"
#include "device/cuda/tokens.hpp"

// A row of logits as a whole: which label it has, what comes of its sums, and what is written and recorded. One thread
// of a block does this, in double.
namespace tokavg::cuda {

enum class RowKind : std::int32_t { kNotScored, kBadLabel, kScored };

// Logits row (r, j), which belongs to label (r, j + shift).
struct Row {
  std::int64_t r = 0;
  std::int64_t j = 0;
  double weight = 0;
  double scale = 0;        // of the gradient; 0 writes zeros, also over NaN
  double logit = 0;        // the label's
  std::int32_t label = 0;  // from 0
  RowKind kind = RowKind::kNotScored;
};

__device__ inline Row find_row(const RowsTask& task, std::int64_t number) {
  const LabelsView& view = task.ce.labels;
  Row row;
  row.r = number / view.cols;
  row.j = number % view.cols;
  if (view.shift >= view.cols || row.j >= view.cols - view.shift) return row;
  const std::int64_t c = row.j + view.shift;
  const std::int64_t label = label_at(view, row.r, c);
  if (!is_scored(view, row.r, c, label)) return row;
  row.weight = weight_at(view, row.r, c);
  const bool is_class = label >= view.label_base && label - view.label_base < task.plan.vocab;
  row.kind = is_class ? RowKind::kScored : RowKind::kBadLabel;
  if (!is_class) return row;
  row.label = static_cast<std::int32_t>(label - view.label_base);
  if (task.ce.gradient.data != nullptr) row.scale = row.weight * value_of(task.gradient_scale);
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

// After the first pass.
template <typename CapKind>
__device__ inline void begin_end(const Row& row, const RowSums& sums, const CapKind& cap, RowEnd& end) {
  end.x = cap.apply(row.logit);
  end.x_sum = sums.x_sum / static_cast<double>(kSmaller) + end.x;
  end.reference = sums.largest;
  end.far = is_far(sums.largest);
  set_others(sums, 0, end);
  const auto logit = static_cast<float>(row.logit);
  const bool label_is_best = logit == logit && is_better(logit, row.label, sums.best, sums.best_column);
  end.best_column = label_is_best ? row.label : sums.best_column < 0 ? 0 : sums.best_column;
}

// A NaN logit makes all of it NaN, and so does an infinite largest x: the differences are then undefined.
__device__ inline bool is_nan(const RowEnd& end) {
  constexpr auto kInfinite = static_cast<double>(kInfinity);
  return end.nan || std::isnan(end.x) || end.reference == kInfinity || end.x == kInfinite ||
         (end.reference == -kInfinity && end.x == -kInfinite);
}

struct RowResult {
  double lse;
  double loss;
};

// As the host has it: with s = others, loss = softplus(log s - x_y), and what smoothing and z-loss add. A part of the
// loss whose coefficient is 0 is left out, for 0 * infinity would be NaN.
__device__ inline RowResult result_of(const CrossEntropy& ce, const RowEnd& end) {
  const double e = ce.label_smoothing;
  const auto reference = static_cast<double>(end.reference);
  const double log_others = std::log(end.others);
  const double above = (reference - end.x) + log_others;  // log s - x; +-infinity where one side has no probability
  const double log_sum = std::log1p(std::exp(-std::fabs(above)));
  RowResult result{above > 0 ? reference + (log_others + log_sum) : end.x + log_sum, 0};
  if (e != 1) result.loss += (1 - e) * ((above > 0 ? above : 0.0) + log_sum);
  if (e != 0) result.loss += e * (result.lse - end.x_sum / static_cast<double>(ce.vocab));
  if (ce.z_loss != 0) result.loss += ce.z_loss * result.lse * result.lse;
  return result;
}

// d loss / d x_k = p_k (1 + 2 z lse) - e / V, and for the label y another (e - 1): with p_y - 1 = -others / all no
// digit is lost.
template <typename Stored, typename CapKind>
__device__ inline void find_slopes(const RowsTask& task, const Row& row, const CapKind& cap, RowEnd& end) {
  const CrossEntropy& ce = task.ce;
  end.filled = row.scale == 0 || is_nan(end);
  if (end.filled) return;
  const double e = ce.label_smoothing;
  const double flat = row.scale * task.share_of_smoothing;
  const double of_p = ce.z_loss != 0 ? row.scale * (1 + 2 * ce.z_loss * result_of(ce, end).lse) : row.scale;
  const double own = std::exp(end.x - static_cast<double>(end.reference));  // infinite where it is all there is
  const bool all_own = std::isinf(own);
  const double all = end.others + own;
  const double others = all_own ? 0.0 : end.others / all;
  const double p = all_own ? 1.0 : own / all;
  end.of_label = ((e - others) * row.scale - flat + (of_p - row.scale) * p) * cap.slope_at(row.logit);
  end.minus_flat = to_finite_float(-flat);
  end.base = 0;
  end.exponent = 0;
  end.factor = 0;
  if (end.reference == -kInfinity) return;  // nor have the others a gradient
  if (kQuick<Stored, CapKind> || is_far(end.reference)) end.base = end.reference;
  const auto largest = static_cast<double>(end.reference) - static_cast<double>(end.base);
  end.exponent = static_cast<std::int32_t>(std::rint(largest * kLog2EDouble));
  end.factor = to_finite_float(of_p / all * std::exp(end.exponent * kLn2Double - largest));
}

// What a block, or a cluster, adds to the cell in the end.
struct RowsRecorded {
  Word tokens = 0;
  Word nonfinite = 0;
  Word bad_labels = 0;
  Word bad_weights = 0;
  FixedTally sum;

  __device__ void add(const LabelsView& view, double w, float loss) {
    ++tokens;
    if (w == 0) return;  // also where the loss is NaN or infinite
    const double x = w * static_cast<double>(loss);
    const bool bad = is_bad_weight(view, w);
    if (bad) ++bad_weights;
    if (!bad && std::fabs(x) < kTokenLimit) {
      sum.add(x);
    } else {
      ++nonfinite;
    }
  }

  __device__ void add_to(TermCell& cell) {
    if (tokens == 0) return;
    atomicAdd(&cell.loss_tokens, tokens);
    if (nonfinite != 0) atomicAdd(&cell.nonfinite, nonfinite);
    if (bad_labels != 0) atomicAdd(&cell.bad_labels, bad_labels);
    if (bad_weights != 0) atomicAdd(&cell.bad_weights, bad_weights);
    sum.add_to(cell.losses);
  }
};

template <typename Value>
__device__ inline void set(const ArrayView& array, std::int64_t r, std::int64_t c, Value value) {
  if (array.data != nullptr) static_cast<Value*>(array.data)[element(array, r, c)] = value;
}

// `end` is for scored rows.
__device__ inline void write_results(const CrossEntropy& ce, const Row& row, const RowEnd& end,
                                     RowsRecorded& recorded) {
  const std::int64_t shift = ce.labels.shift;
  const std::int64_t c = row.j + shift;
  if (row.j < shift)
    set(ce.losses, row.r, row.j, 0.0F);  // labels at the left have no logits, logits at the right no labels
  float loss = 0;
  float lse = 0;
  std::int32_t best = -1;
  if (row.kind == RowKind::kBadLabel) {
    loss = quiet_nan<float>();
    ++recorded.bad_labels;
  } else if (row.kind == RowKind::kScored) {
    const RowResult result = result_of(ce, end);
    loss = is_nan(end) ? quiet_nan<float>() : static_cast<float>(result.loss);
    lse = is_nan(end) ? quiet_nan<float>() : static_cast<float>(result.lse);
    best = end.best_column + ce.labels.label_base;
  }
  if (row.kind != RowKind::kNotScored) recorded.add(ce.labels, row.weight, loss);
  if (shift < ce.labels.cols && row.j < ce.labels.cols - shift) set(ce.losses, row.r, c, loss);
  set(ce.lse, row.r, row.j, lse);
  set(ce.argmax, row.r, row.j, best);
}

// What the threads of a block share of a row.
struct RowShared {
  Row row;
  RowEnd end;
  RowsRecorded recorded;
};

// The one that finishes a row is slow and alone; so two of them do, in different warps.
inline constexpr unsigned kSlopeThread = 0;
inline constexpr unsigned kResultThread = kWarp;

// By all threads, when shared.end has begun. `records`: this block does for its row.
template <typename Stored, typename CapKind>
__device__ inline void finish_row(const RowsTask& task, const CapKind& cap, bool records, RowShared& shared) {
  if (threadIdx.x == kResultThread && records) write_results(task.ce, shared.row, shared.end, shared.recorded);
  if (threadIdx.x == kSlopeThread && task.ce.gradient.data != nullptr) {
    find_slopes<Stored>(task, shared.row, cap, shared.end);
  }
  __syncthreads();
}

}  // namespace tokavg::cuda
