// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cross_entropy_exp.hpp"
#include "device/cuda/cross_entropy_plan.hpp"
#include "device/cuda/elements.hpp"
#include "device/cuda/fixed_tally.hpp"

// What a pass over the logits of a row finds out. The label is left out of all of it: it comes in at the end, in
// double, so that a row that is nearly certain loses no digits.
//
// Which thread adds which columns in which order depends on the vocabulary and the type alone: the four or eight
// columns of a packet in a tree of float, the packets of a thread one after the other in double, then threads, warps
// and chunks. As exponentials are kept as multiples of a power of two, it does not show which power that was.
namespace tokavg::cuda {

inline constexpr int kLowestExponent = -(1 << 20);
inline constexpr float kSmaller = 0x1p-10F;  // of x, where many are added: some masks are the largest float

struct RowSums {
  double sum = 0;    // of exp(x - base), over 2^exponent
  double x_sum = 0;  // of x * kSmaller
  int exponent = kLowestExponent;
  float largest = -kInfinity;  // x
  float best = -kInfinity;     // logit, and the first column that has it; -1: none that is a number
  int best_column = -1;
};

// 2^exponent for exponent <= 0; 0 where that is no normal number.
__device__ inline double power_of_two(int exponent) {
  return exponent < -1022 ? 0.0 : same_bits<double>(static_cast<std::int64_t>(1023 + exponent) << 52);
}

__device__ inline bool is_better(float logit, int column, float than, int than_column) {
  if (column < 0 || than_column < 0) return column >= 0;
  return logit > than || (logit == than && column < than_column);
}

__device__ inline void merge(RowSums& sums, const RowSums& more) {
  const int exponent = sums.exponent > more.exponent ? sums.exponent : more.exponent;
  sums.sum = sums.sum * power_of_two(sums.exponent - exponent) + more.sum * power_of_two(more.exponent - exponent);
  sums.exponent = exponent;
  sums.x_sum += more.x_sum;
  sums.largest = std::fmax(sums.largest, more.largest);
  if (is_better(more.best, more.best_column, sums.best, sums.best_column)) {
    sums.best = more.best;
    sums.best_column = more.best_column;
  }
}

// Those of the warp; the first lane has them in the end.
__device__ inline RowSums merge_lanes(RowSums sums) {
  for (unsigned distance = 1; distance < kWarp; distance *= 2) {
    RowSums more;
    more.sum = __shfl_down_sync(kAllLanes, sums.sum, distance);
    more.x_sum = __shfl_down_sync(kAllLanes, sums.x_sum, distance);
    more.exponent = __shfl_down_sync(kAllLanes, sums.exponent, distance);
    more.largest = __shfl_down_sync(kAllLanes, sums.largest, distance);
    more.best = __shfl_down_sync(kAllLanes, sums.best, distance);
    more.best_column = __shfl_down_sync(kAllLanes, sums.best_column, distance);
    merge(sums, more);
  }
  return sums;
}

__device__ inline RowSums merge_in_order(const RowSums* sums, int count) {
  RowSums all = sums[0];
#pragma unroll 2  // all at once would take the registers of the loops over logits
  for (int i = 1; i < count; ++i) merge(all, sums[i]);
  return all;
}

// By all lanes.
__device__ inline RowSums of_lane(const RowSums& sums, int lane) {
  RowSums other;
  other.sum = __shfl_sync(kAllLanes, sums.sum, lane);
  other.x_sum = __shfl_sync(kAllLanes, sums.x_sum, lane);
  other.exponent = __shfl_sync(kAllLanes, sums.exponent, lane);
  other.largest = __shfl_sync(kAllLanes, sums.largest, lane);
  other.best = __shfl_sync(kAllLanes, sums.best, lane);
  other.best_column = __shfl_sync(kAllLanes, sums.best_column, lane);
  return other;
}

template <int kCount>
__device__ float tree_sum(float (&values)[kCount]) {
#pragma unroll
  for (int n = kCount / 2; n > 0; n /= 2) {
#pragma unroll
    for (int i = 0; i < n; ++i) values[i] = __fadd_rn(values[i], values[i + n]);
  }
  return values[0];
}

// A chunk of a row: where its columns are and what of it is left out.
struct Chunk {
  int begin = 0;  // column of the row
  int columns = 0;
  int label = -1;  // from begin; outside: the label is elsewhere
};

// What a pass over a chunk finds out.
enum class Pass {
  kPlain,    // the sum of exp(x) and the largest x
  kFull,     // besides, the best column and the sum of x
  kShifted,  // the sum of exp(x - base) alone
};

// One thread's part of a chunk.
template <typename Stored, typename CapKind, Pass kPass>
class ChunkSums {
 public:
  static constexpr int kColumns = kPerPacket<Stored>;

  __device__ ChunkSums(const Stored* logits, const Chunk& chunk, const CapKind& cap, float base)
      : logits_(logits),
        chunk_(chunk),
        cap_(cap),
        base_(base),
        suits_(suits_packets(logits)),
        label_packet_(chunk.label >= 0 && chunk.label < chunk.columns ? chunk.label / kColumns * kColumns : -1),
        last_packet_(chunk.columns % kColumns != 0 ? chunk.columns / kColumns * kColumns : -1) {}

  // The packet of columns from `column`, a multiple of kColumns, on. Which columns a packet holds does not depend on
  // addresses, only how it is loaded. What is left out has the exponential 0.
  __device__ Packet load(int column) const {
    if (is_special(column)) return gather<true>(column);
    return suits_ ? load_packet(logits_ + column) : gather<false>(column);
  }

  __device__ void add(const Packet& packet, int column) {
    float x[kColumns];
    unpack<Stored>(packet, x);
    if constexpr (kPass == Pass::kFull) find_best(x, column);
#pragma unroll
    for (float& value : x) value = cap_.apply(value);
    if constexpr (kPass == Pass::kFull) add_x(x, column);
    if (CapKind::kCapped && is_special(column)) leave_out(x, column);
    add_exps(x);
  }

  __device__ const RowSums& sums() const { return sums_; }

 private:
  // How far, in powers of two, exponentials may rise above 2^exponent before that is made larger.
  static constexpr int kMostAbove = 60;

  __device__ bool is_special(int column) const { return column == label_packet_ || column == last_packet_; }

  __device__ bool is_left_out(int column) const { return column == chunk_.label || column >= chunk_.columns; }

  template <bool kSpecial>
  __device__ Packet gather(int column) const {
    Elements<Stored> elements;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const bool out = kSpecial && is_left_out(column + i);
      elements.value[i] = out ? from_float<Stored>(-kInfinity) : logits_[column + i];
    }
    return same_bits<Packet>(elements);
  }

  // A cap has made an ordinary number of -infinity.
  __device__ void leave_out(float (&x)[kColumns], int column) const {
#pragma unroll
    for (int i = 0; i < kColumns; ++i) x[i] = is_left_out(column + i) ? -kInfinity : x[i];
  }

  __device__ void add_exps(float (&x)[kColumns]) {
    float largest = x[0];
#pragma unroll
    for (int i = 1; i < kColumns; ++i) largest = std::fmax(largest, x[i]);
    if constexpr (kPass == Pass::kShifted) {
      largest -= base_;
#pragma unroll
      for (float& value : x) value = __fsub_rn(value, base_);
    } else {
      sums_.largest = std::fmax(sums_.largest, largest);
    }
    if (largest > limit_) raise(largest);
    float e[kColumns / 2];
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) {
      const ScaledExp::Parts other = exp_.parts(x[i + kColumns / 2]);
      e[i] = __fmaf_rn(other.digits, other.power, exp_(x[i]));
    }
    sums_.sum += static_cast<double>(tree_sum(e));
  }

  // Exact: the old sum becomes smaller by a power of two.
  __device__ void raise(float largest) {
    constexpr auto kMost = static_cast<float>(-kLowestExponent);
    const float n = std::rint(std::fmin(std::fmax(__fmul_rn(largest, kLog2E), -kMost), kMost));
    const int exponent = static_cast<int>(n);
    sums_.sum *= power_of_two(sums_.exponent - exponent);
    sums_.exponent = exponent;
    exp_ = ScaledExp(exponent);
    limit_ = __fmul_rn(n + static_cast<float>(kMostAbove), kLn2);
  }

  __device__ void add_x(const float (&x)[kColumns], int column) {
    float smaller[kColumns];
#pragma unroll
    for (int i = 0; i < kColumns; ++i) smaller[i] = is_left_out(column + i) ? 0.0F : __fmul_rn(x[i], kSmaller);
    sums_.x_sum += static_cast<double>(tree_sum(smaller));
  }

  __device__ void find_best(const float (&logit)[kColumns], int column) {
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const bool better = logit[i] > sums_.best || (sums_.best_column < 0 && logit[i] == logit[i]);
      if (!better || is_left_out(column + i)) continue;
      sums_.best = logit[i];
      sums_.best_column = chunk_.begin + column + i;
    }
  }

  const Stored* logits_;  // the chunk's
  const Chunk& chunk_;
  const CapKind& cap_;
  float base_;
  bool suits_;
  int label_packet_;  // -1: there is none
  int last_packet_;   // that is not full
  RowSums sums_;
  ScaledExp exp_{kLowestExponent};
  float limit_ = -kInfinity;
};

// Which pass comes first.
__device__ inline bool wants_full_pass(const CrossEntropy& ce) {
  return ce.argmax.data != nullptr || ce.label_smoothing != 0;
}

}  // namespace tokavg::cuda
