// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cross_entropy_row.hpp"
#include "device/cuda/multiplier.hpp"

// What is made of a row's sums: its loss, the numbers of its gradient, and what is written and recorded; and the way of
// a block from row to row.
namespace tokavg::cuda {

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
  end.of_label = ((e - others) * row.scale - flat + (of_p - row.scale) * p) * cap.slope_at(end.logit);
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
  // Labels at the left have no logits, logits at the right no labels.
  if (row.j < shift) set(ce.losses, row.r, row.j, 0.0F);
  const bool labelled = shift < ce.labels.cols && row.j < ce.labels.cols - shift;
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
  if (labelled) set(ce.losses, row.r, row.j + shift, loss);
  set(ce.lse, row.r, row.j, lse);
  set(ce.argmax, row.r, row.j, best);
}

// What the threads of a block share.
struct RowShared {
  Row rows[2];  // this one and the next
  RowEnd end;
  RowsRecorded recorded;
  double gradient_scale;
};

// What one thread does alone takes long; so each of these is in another warp.
inline constexpr unsigned kSlopeThread = 0;
inline constexpr unsigned kResultThread = kWarp;
inline constexpr unsigned kRowThread = 2 * kWarp;

// The rows of one block or cluster: number `first` and every `step`-th from there on. Calls visit(row, find_next) for
// each, with all threads; it calls find_next() where others wait for memory too.
template <typename Visit>
__device__ inline void for_each_row(const RowsTask& task, std::int64_t first, std::int64_t step, RowShared& shared,
                                    const Visit& visit) {
  if (threadIdx.x == kResultThread) shared.recorded = RowsRecorded();
  if (threadIdx.x == kRowThread) {
    shared.gradient_scale = value_of(task.gradient_scale);
    if (first < task.rows) shared.rows[0] = find_row(task, shared.gradient_scale, first);
  }
  int turn = 0;
  for (std::int64_t number = first; number < task.rows; number += step) {
    __syncthreads();  // the row is found, and all have done with the one before
    const Row& row = shared.rows[turn];
    turn ^= 1;
    visit(row, [&] {
      if (threadIdx.x != kRowThread || number + step >= task.rows) return;
      shared.rows[turn] = find_row(task, shared.gradient_scale, number + step);
    });
  }
}

// By all threads, when shared.end has begun. `records`: this block does for its row.
template <typename Stored, typename CapKind>
__device__ inline void finish_row(const RowsTask& task, const Row& row, const CapKind& cap, bool records,
                                  RowShared& shared) {
  if (threadIdx.x == kResultThread && records) write_results(task.ce, row, shared.end, shared.recorded);
  if (threadIdx.x == kSlopeThread && task.ce.gradient.data != nullptr) {
    find_slopes<Stored>(task, row, cap, shared.end);
  }
  __syncthreads();
}

}  // namespace tokavg::cuda
