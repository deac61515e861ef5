// SPDX-License-Identifier: Apache-2.0
// Cross entropy of one row in float32: frozen, for the bits of losses and gradients are compared between versions
// (tests/data/cross_entropy_golden.txt). Included once for each target.
//
// With x the logits (capped where there is a cap), y the label and s = sum over k != y of exp(x_k):
//
//   loss = softplus(log s - x_y)     p_y - 1 = -s / (s + exp(x_y))     p_k = exp(x_k) / (s + exp(x_y))
//
// The label is left out of the vector sum and comes in at the end, in double: a row that is nearly certain loses no
// digits. Columns are taken in groups of 64, a column always in the same of 64 lanes (group-inl.h), whatever a target's
// vectors hold.
#if defined(TOKAVG_HOST_SIMD_CROSS_ENTROPY_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_CROSS_ENTROPY_INL_H
#undef TOKAVG_HOST_SIMD_CROSS_ENTROPY_INL_H
#else
#define TOKAVG_HOST_SIMD_CROSS_ENTROPY_INL_H
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "device/host/cross_entropy_row.hpp"
#include "device/host/simd/exp-inl.h"
#include "device/host/simd/group-inl.h"
#include "device/host/simd/tanh-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
// Exponentials are taken against a reference that is at most this far below the largest logit. Higher, and the
// rounding of x - reference would show; lower, and more blocks would have to be done again (with 2, one in each row of
// 32000 logits with a standard deviation of 3).
constexpr float kMostAbove = 4.0F;

// Never infinite: times the 0 of a class without any probability that would be NaN.
inline float to_float(double value) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(std::clamp(value, -kMost, kMost));
}

// What becomes of a logit before its exponential is taken, and of a gradient afterwards.
struct NoCap {
  static constexpr bool kCapped = false;
  explicit NoCap(double /*cap*/) {}
  HWY_INLINE FloatVec apply(FloatVec logit) const { return logit; }
  HWY_INLINE FloatVec chain(FloatVec slope, FloatVec /*logit*/) const { return slope; }
  [[nodiscard]] double apply(double logit) const { return logit; }
  [[nodiscard]] double slope_at(double /*logit*/) const { return 1; }
};

struct Cap {
  static constexpr bool kCapped = true;
  explicit Cap(double cap) : cap_(cap) {}
  // NaN, which also marks what is left out, becomes -infinity.
  HWY_INLINE FloatVec apply(FloatVec logit) const {
    const Floats d;
    const FloatVec capped = hn::Mul(hn::Set(d, static_cast<float>(cap_)), tanh_floats(over_cap(logit)));
    return hn::IfThenElse(hn::Eq(logit, logit), capped, hn::Set(d, -kInfinity));
  }
  HWY_INLINE FloatVec chain(FloatVec slope, FloatVec logit) const {
    return hn::Mul(slope, tanh_slope_floats(over_cap(logit)));
  }
  [[nodiscard]] double apply(double logit) const { return cap_ * std::tanh(logit / cap_); }
  [[nodiscard]] double slope_at(double logit) const {
    const double sech = 1 / std::cosh(logit / cap_);
    return sech * sech;
  }

 private:
  HWY_INLINE FloatVec over_cap(FloatVec logit) const {
    return hn::Mul(logit, hn::Set(Floats(), static_cast<float>(1 / cap_)));
  }
  double cap_;
};

// The sum of exp(x - reference) over the columns so far.
struct ExpSum {
  // Written out: a compiler would make its own one without the target's instructions.
  HWY_INLINE ExpSum() : probe(hn::Zero(Floats())) {}

  float reference = -kInfinity;
  LaneSums sums;
  FloatVec probe;  // NaN if a logit is, and perhaps if sums of logits overflow

  // All that was summed against the old reference becomes smaller.
  void raise(float to) {
    if (reference != -kInfinity) sums.scale(std::exp(static_cast<double>(reference) - static_cast<double>(to)));
    reference = to;
  }
};

template <class Stored, class CapKind>
class CrossEntropyRow {
 public:
  explicit CrossEntropyRow(const RowTask& task)
      : task_(task),
        cap_(task.ce->softcap),
        columns_(static_cast<const Stored*>(task.logits), static_cast<std::size_t>(task.ce->vocab),
                 static_cast<std::size_t>(task.label), CapKind::kCapped ? std::nanf("") : -kInfinity),
        gradient_(task.scale != 0 ? static_cast<Stored*>(task.gradient) : nullptr),
        logit_(load_double(static_cast<const Stored*>(task.logits) + task.label)) {}

  RowResult evaluate() {
    const double x = cap_.apply(logit_);
    const double x_sum = task_.ce->label_smoothing != 0 ? x + sum_of_others() : 0;
    ExpSum exps;
    bool nan = std::isnan(x);
    if (gradient_ == nullptr || CapKind::kCapped) {
      sum<false>(exps);
      nan |= may_be_nan(exps) && any_nan(0, columns_.groups());
    } else if (task_.gradient == task_.logits && kKeptInGradient) {
      nan |= sum_in_place(exps);
    } else {
      sum<true>(exps);
      nan |= may_be_nan(exps) && any_nan(0, columns_.groups());
    }
    nan |= exps.reference == kInfinity || x == static_cast<double>(kInfinity) ||
           (exps.reference == -kInfinity && x == -static_cast<double>(kInfinity));
    return nan ? not_a_number() : finish(exps, x, x_sum);
  }

 private:
  // exp(x - reference) waits for the end of the row where the gradient will be, or in the scratch where that has 16
  // bits. Under a cap it is computed again, for the logits are needed too.
  static constexpr bool kKeptInGradient = sizeof(Stored) == sizeof(float);

  RowResult finish(const ExpSum& exps, double x, double x_sum) {
    const CrossEntropy& ce = *task_.ce;
    const double e = ce.label_smoothing;
    // Differences first: of logits like 1e30 nothing but their difference is left to tell.
    const double distance = static_cast<double>(exps.reference) - x;
    const double log_others = std::log(exps.sums.total());  // against the reference
    const double above = distance + log_others;             // log s - x; +-infinity where one side has no probability
    const double log_sum = std::log1p(std::exp(-std::fabs(above)));
    const double from_lse = above > 0 ? -(log_others + log_sum) : distance - log_sum;  // of the reference
    RowResult result;
    result.lse = above > 0 ? static_cast<double>(exps.reference) + (log_others + log_sum) : x + log_sum;
    if (e != 1) result.loss += (1 - e) * (std::max(above, 0.0) + log_sum);
    if (e != 0) result.loss += e * (result.lse - x_sum / static_cast<double>(ce.vocab));
    if (ce.z_loss != 0) result.loss += ce.z_loss * result.lse * result.lse;
    if (gradient_ != nullptr) {
      Slope slope;
      slope.of_p = task_.scale * (1 + 2 * ce.z_loss * result.lse);
      slope.flat = task_.scale * (e / static_cast<double>(ce.vocab));
      write_gradient(exps.reference, from_lse, slope);
      write_label(above, slope);
    } else if (task_.gradient != nullptr) {
      std::memset(task_.gradient, 0, columns_.size() * sizeof(Stored));
    }
    return result;
  }

  RowResult not_a_number() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (gradient_ != nullptr) {
      Stored stored;
      store_double(nan, &stored);
      std::fill_n(gradient_, columns_.size(), stored);
    } else if (task_.gradient != nullptr) {
      std::memset(task_.gradient, 0, columns_.size() * sizeof(Stored));
    }
    return {nan, nan};
  }

  // d loss / d x_k = of_p * p_k - flat, times the slope of the cap.
  struct Slope {
    double of_p;
    double flat;
  };

  // The largest x of the groups [begin, end).
  HWY_INLINE FloatVec largest_of(std::size_t begin, std::size_t end, FloatVec& probe) const {
    const Floats d;
    FloatVec largest[2] = {hn::Set(d, -kInfinity), hn::Set(d, -kInfinity)};
    for (std::size_t g = begin; g < end; ++g) {
      const Stored* from = columns_.group(g);
      for (std::size_t i = 0; i < kGroupPairs; ++i) {
        FloatVec x[2];
        load_pair(from, i, x[0], x[1]);
        for (std::size_t k = 0; k < 2; ++k) {
          x[k] = cap_.apply(x[k]);
          largest[k] = hn::Max(x[k], largest[k]);
          probe = hn::Add(probe, x[k]);
        }
      }
    }
    return hn::Max(largest[0], largest[1]);
  }

  // As long as all x were -infinity there is no reference; x - 0 serves as well, and is not NaN.
  static float finite(float reference) { return reference == -kInfinity ? 0.0F : reference; }

  // Whether none of these is more than kMostAbove above the reference.
  HWY_INLINE static bool fits(FloatVec largest, float reference) {
    const Floats d;
    return hn::AllTrue(d, hn::Le(largest, hn::Set(d, reference + kMostAbove)));
  }

  // Sums the exponentials of the groups [begin, end), finds the largest x among them, and keeps the exponentials.
  template <bool kFind, bool kKeep>
  HWY_INLINE FloatVec add_exps(std::size_t begin, std::size_t end, float reference, Group& sums,
                               FloatVec& probe) const {
    FloatVec largest = hn::Set(Floats(), -kInfinity);
    HWY_ALIGN float last[kGroupColumns];
    for (std::size_t pair = 0; pair < kGroupPairs; pair += kPairsAtOnce) {
      largest = hn::Max(largest, add_some_exps<kFind, kKeep>(pair, begin, end, reference, last, sums, probe));
    }
    if (kKeep && kKeptInGradient && HWY_UNLIKELY(columns_.ends_in(end - 1))) {
      std::memcpy(kept(end - 1), last, columns_.width(end - 1) * sizeof(float));
    }
    return largest;
  }

  // With all 64 sums in registers, 16 registers would be too few: the pairs of a group are taken in parts, and a block,
  // which the first cache holds, is walked through once for each.
  static constexpr std::size_t kPairsAtOnce = std::min<std::size_t>(kGroupPairs, kLanes == 4 ? 4 : 2);

  template <bool kFind, bool kKeep>
  HWY_INLINE FloatVec add_some_exps(std::size_t pair, std::size_t begin, std::size_t end, float reference, float* last,
                                    Group& sums_out, FloatVec& probe_inout) const {
    const Floats d;
    const FloatVec ref = hn::Set(d, finite(reference));
    FloatVec largest = hn::Set(d, -kInfinity);
    // Not behind references: what is kept might overwrite them, for all that the compiler knows.
    FloatVec probe = probe_inout;
    FloatVec sums[2 * kPairsAtOnce];
    for (FloatVec& sum : sums) sum = hn::Zero(d);
    for (std::size_t g = begin; g < end; ++g) {
      const Stored* from = columns_.group(g);
      if (kPrefetches<kFind> && pair == 0) prefetch(g + kBlockGroups);
      // Without a gradient there may be no place to keep them, and no address may be made of none.
      float* keep = nullptr;
      if constexpr (kKeep) keep = kKeptInGradient && HWY_UNLIKELY(columns_.ends_in(g)) ? last : kept(g);
      for (std::size_t i = 0; i < kPairsAtOnce; ++i) {
        FloatVec x[2];
        load_pair(from, pair + i, x[0], x[1]);
        const Places at = places_of<Stored>(pair + i);
        for (std::size_t k = 0; k < 2; ++k) {
          x[k] = cap_.apply(x[k]);
          if constexpr (kFind) {
            largest = hn::Max(x[k], largest);
            probe = hn::Add(probe, x[k]);
          }
          const FloatVec e = exp_floats(hn::Sub(x[k], ref));
          sums[2 * i + k] = hn::Add(sums[2 * i + k], e);
          if constexpr (kKeep) hn::StoreU(e, d, keep + (k == 0 ? at.first : at.second) * kLanes);
        }
      }
    }
    for (std::size_t i = 0; i < kPairsAtOnce; ++i) {
      const Places at = places_of<Stored>(pair + i);
      sums_out.v[at.first] = sums[2 * i];
      sums_out.v[at.second] = sums[2 * i + 1];
    }
    probe_inout = probe;
    return largest;
  }

  // The block after this one comes from memory while the exponentials are computed. Where a block was read once before,
  // that cannot be left to the processor; a pass over 16-bit logits gains 5 %, one over float logits loses 10 % by it.
  template <bool kFind>
  static constexpr bool kPrefetches = !kFind || sizeof(Stored) == 2;

  HWY_INLINE void prefetch(std::size_t g) const {
    // As an integer: the address may lie beyond the row, which does no harm.
    const auto at = reinterpret_cast<std::uintptr_t>(task_.logits) + g * kGroupColumns * sizeof(Stored);
    for (std::size_t i = 0; i < kGroupColumns * sizeof(Stored); i += 64) {
      hwy::Prefetch(reinterpret_cast<const std::byte*>(at + i));  // NOLINT(performance-no-int-to-ptr): only a hint
    }
  }

  // Where the exponentials of group g are kept.
  HWY_INLINE float* kept(std::size_t g) const {
    float* row = kKeptInGradient ? reinterpret_cast<float*>(gradient_) : task_.exps;
    return row + g * kGroupColumns;
  }

  // Against the reference of the blocks before, while looking for the largest; a block that rises too far is done
  // again.
  template <bool kKeep>
  void sum(ExpSum& exps) const {
    const Floats d;
    FloatVec unused = hn::Zero(d);
    Group sums;
    for (std::size_t b = 0; b < columns_.blocks(); ++b) {
      const std::size_t begin = columns_.first_group(b);
      const std::size_t end = columns_.first_group(b + 1);
      if (exps.reference == -kInfinity) exps.raise(hn::GetLane(hn::MaxOfLanes(d, largest_of(begin, end, unused))));
      const FloatVec largest = add_exps<true, kKeep>(begin, end, exps.reference, sums, exps.probe);
      if (HWY_UNLIKELY(!fits(largest, exps.reference))) {
        exps.raise(hn::GetLane(hn::MaxOfLanes(d, largest)));
        add_exps<true, kKeep>(begin, end, exps.reference, sums, unused);
      }
      exps.sums.add(sums);
      if constexpr (kKeep) task_.references[b] = exps.reference;
    }
  }

  // The same sums where the exponentials overwrite the logits: the largest comes first. Returns whether one was NaN.
  bool sum_in_place(ExpSum& exps) const {
    const Floats d;
    bool nan = false;
    Group sums;
    for (std::size_t b = 0; b < columns_.blocks(); ++b) {
      const std::size_t begin = columns_.first_group(b);
      const std::size_t end = columns_.first_group(b + 1);
      FloatVec probe = hn::Zero(d);
      const FloatVec largest = largest_of(begin, end, probe);
      if (HWY_UNLIKELY(probe_is_nan(probe))) nan |= any_nan(begin, end);
      if (HWY_UNLIKELY(!fits(largest, exps.reference))) exps.raise(hn::GetLane(hn::MaxOfLanes(d, largest)));
      add_exps<false, true>(begin, end, exps.reference, sums, probe);
      exps.sums.add(sums);
      task_.references[b] = exps.reference;
    }
    return nan;
  }

  // last: the reference at the end of the row, which is from_lse above the log-sum-exp.
  void write_gradient(float last, double from_lse, const Slope& slope) {
    for (std::size_t b = 0; b < columns_.blocks(); ++b) {
      const float reference = CapKind::kCapped ? last : task_.references[b];
      double to_p = 0;  // the block's classes have no probability
      if (reference != -kInfinity) {
        to_p = std::exp((static_cast<double>(reference) - static_cast<double>(last)) + from_lse);
      }
      write_block(b, reference, to_float(slope.of_p * to_p), to_float(-slope.flat));
    }
  }

  void write_block(std::size_t b, float reference, float factor, float flat) {
    const Floats d;
    const FloatVec factors = hn::Set(d, factor);
    const FloatVec flats = hn::Set(d, flat);
    const FloatVec ref = hn::Set(d, finite(reference));
    for (std::size_t g = columns_.first_group(b); g < columns_.first_group(b + 1); ++g) {
      Stored* to = gradient_ + g * kGroupColumns;
      const float* exps = kept(g);
      HWY_ALIGN Stored last[kGroupColumns];
      HWY_ALIGN float last_exps[kGroupColumns];
      if (HWY_UNLIKELY(columns_.ends_in(g))) {
        to = last;
        if (kKeptInGradient && !CapKind::kCapped) {
          std::memcpy(last_exps, exps, columns_.width(g) * sizeof(float));
          exps = last_exps;
        }
      }
      for (std::size_t i = 0; i < kGroupPairs; ++i) {
        const Places at = places_of<Stored>(i);
        FloatVec out[2];
        if constexpr (CapKind::kCapped) {
          FloatVec logit[2];
          load_pair(columns_.group(g), i, logit[0], logit[1]);
          for (std::size_t k = 0; k < 2; ++k) {
            const FloatVec p = without_least(exp_floats(hn::Sub(cap_.apply(logit[k]), ref)));
            out[k] = cap_.chain(fused_multiply_add(p, factors, flats), logit[k]);
          }
        } else {
          out[0] = fused_multiply_add(without_least(hn::LoadU(d, exps + at.first * kLanes)), factors, flats);
          out[1] = fused_multiply_add(without_least(hn::LoadU(d, exps + at.second * kLanes)), factors, flats);
        }
        store_pair(out[0], out[1], i, to);
      }
      if (to == last) std::memcpy(gradient_ + g * kGroupColumns, last, columns_.width(g) * sizeof(Stored));
    }
  }

  // p_y - 1 = -1 / (1 + exp(-above)), in double and rounded once.
  void write_label(double above, const Slope& slope) {
    const double e = task_.ce->label_smoothing;
    const double others = 1 / (1 + std::exp(-above));
    const double p = 1 / (1 + std::exp(above));
    const double value = (e - others) * task_.scale - slope.flat + (slope.of_p - task_.scale) * p;
    store_double(value * cap_.slope_at(logit_), gradient_ + task_.label);
  }

  // Of x, the label's left out. Made smaller meanwhile: some masks are the largest float, and a few of those overflow.
  [[nodiscard]] double sum_of_others() const {
    constexpr float kSmaller = 0x1p-10F;
    const FloatVec smaller = hn::Set(Floats(), kSmaller);
    LaneSums total;
    for (std::size_t b = 0; b < columns_.blocks(); ++b) {
      Group sums;
      sums.clear();
      for (std::size_t g = columns_.first_group(b); g < columns_.first_group(b + 1); ++g) {
        Group logits;
        columns_.load_zeros_instead(g, logits);
        for (std::size_t k = 0; k < kGroupVecs; ++k)
          sums.v[k] = hn::Add(sums.v[k], hn::Mul(cap_.apply(logits.v[k]), smaller));
      }
      total.add(sums);
    }
    return total.total() / static_cast<double>(kSmaller);
  }

  HWY_INLINE static bool probe_is_nan(FloatVec probe) { return !hn::AllTrue(Floats(), hn::Eq(probe, probe)); }
  static bool may_be_nan(const ExpSum& exps) { return CapKind::kCapped || probe_is_nan(exps.probe); }

  // Looks at the logits themselves.
  [[nodiscard]] bool any_nan(std::size_t begin, std::size_t end) const {
    const Floats d;
    bool nan = false;
    for (std::size_t g = begin; g < end; ++g) {
      Group logits;
      columns_.load_zeros_instead(g, logits);
      for (const FloatVec& v : logits.v) nan |= !hn::AllTrue(d, hn::Eq(v, v));
    }
    return nan;
  }

  const RowTask& task_;
  CapKind cap_;
  Columns<Stored> columns_;
  Stored* gradient_;
  double logit_;  // the label's
};

template <class Stored>
RowResult evaluate_row(const RowTask& task) {
  return task.ce->softcap == 0 ? CrossEntropyRow<Stored, NoCap>(task).evaluate()
                               : CrossEntropyRow<Stored, Cap>(task).evaluate();
}

template <class Stored>
std::int64_t largest_in_row(const void* logits, std::int64_t vocab) {
  const Floats d;
  const Columns<Stored> columns(static_cast<const Stored*>(logits), static_cast<std::size_t>(vocab),
                                Columns<Stored>::kNone, -kInfinity);
  FloatVec largest = hn::Set(d, -kInfinity);
  for (std::size_t g = 0; g < columns.groups(); ++g) {
    const Stored* from = columns.group(g);
    for (std::size_t k = 0; k < kGroupVecs; ++k) {
      const FloatVec x = load_floats(from + k * kLanes);
      largest = hn::IfThenElse(hn::Gt(x, largest), x, largest);
    }
  }
  const FloatVec wanted = hn::MaxOfLanes(d, largest);
  for (std::size_t g = 0; g < columns.groups(); ++g) {
    const Stored* from = columns.group(g);
    for (std::size_t k = 0; k < kGroupVecs; ++k) {
      const std::intptr_t found = hn::FindFirstTrue(d, hn::Eq(load_floats(from + k * kLanes), wanted));
      const auto column = static_cast<std::int64_t>(g * kGroupColumns + k * kLanes) + found;
      if (found >= 0) return column < vocab ? column : 0;
    }
  }
  return 0;
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
