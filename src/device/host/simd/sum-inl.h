// SPDX-License-Identifier: Apache-2.0
// Sums of doubles in fixed point (base/fixed_point.hpp), and the values to be summed. Included once for each target.
#if defined(TOKAVG_HOST_SIMD_SUM_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_SUM_INL_H
#undef TOKAVG_HOST_SIMD_SUM_INL_H
#else
#define TOKAVG_HOST_SIMD_SUM_INL_H
#endif

#include <algorithm>

#include "base/fixed_point.hpp"
#include "device/host/simd/count-inl.h"
#include "device/host/simd/kernels.hpp"
#include "device/host/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Doubles>;
using IntegerVec = hn::Vec<Integers>;

// x is cut into multiples of 2^-8, of 2^-40 and, rounded half to even, of 2^-72. Adding 1.5 * 2^52 rounds to an integer
// and leaves it in the lowest bits of the sum, which are added as they are; what the number itself added comes off at
// the end. Every product and difference here is exact, so that a multiply-add may round once or twice.
class FixedSums {
 public:
  // Written out: a compiler would make its own one without the target's instructions.
  HWY_INLINE FixedSums()
      : high_(hn::Zero(Integers())), middle_(high_), low_(high_), largest_(hn::Zero(Doubles())), nan_(largest_) {}

  // For numbers below 2^22 in magnitude; all_in_range() says afterwards whether they were.
  HWY_INLINE void add(DoubleVec x) {
    const DoubleVec magnitude = hn::Abs(x);
    largest_ = hn::Max(magnitude, largest_);
    nan_ = hn::Add(nan_, magnitude);
    add_in_range(x);
  }

  // For all numbers; those that are too large, and NaN, are left out.
  void add_carefully(DoubleVec x) {
    const Doubles d;
    const auto in_range = hn::Lt(hn::Abs(x), hn::Set(d, kTokenLimit));
    out_of_range_ += static_cast<std::int64_t>(hn::Lanes(d) - hn::CountTrue(d, in_range));
    add_in_range(hn::IfThenElseZero(in_range, x));
  }

  // Of those that were added since the last call.
  HWY_INLINE bool all_in_range() {
    const Doubles d;
    const bool numbers = hn::AllTrue(d, hn::Eq(nan_, nan_));  // Max may forget a NaN
    const bool small = hn::AllTrue(d, hn::Lt(largest_, hn::Set(d, kTokenLimit)));
    largest_ = hn::Zero(d);
    nan_ = largest_;
    return numbers && small;
  }

  [[nodiscard]] FixedParts parts() const { return {total(high_), total(middle_), total(low_), out_of_range_, 0}; }

 private:
  static constexpr double kMagic = 0x1.8p52;

  HWY_INLINE void add_in_range(DoubleVec x) {
    const Doubles d;
    const Integers bits;
    const DoubleVec magic = hn::Set(d, kMagic);
    DoubleVec t = hn::MulAdd(x, hn::Set(d, 0x1p8), magic);
    high_ = hn::Add(high_, hn::BitCast(bits, t));
    x = hn::MulSub(x, hn::Set(d, 0x1p8), hn::Sub(t, magic));
    t = hn::MulAdd(x, hn::Set(d, 0x1p32), magic);
    middle_ = hn::Add(middle_, hn::BitCast(bits, t));
    x = hn::MulSub(x, hn::Set(d, 0x1p32), hn::Sub(t, magic));
    low_ = hn::Add(low_, hn::BitCast(bits, hn::MulAdd(x, hn::Set(d, 0x1p32), magic)));
    ++vecs_;
  }

  [[nodiscard]] std::int64_t total(IntegerVec lanes) const {
    const Integers d;
    const std::uint64_t magic = static_cast<std::uint64_t>(vecs_) * std::bit_cast<std::uint64_t>(kMagic);
    return hn::GetLane(hn::SumOfLanes(d, hn::Sub(lanes, hn::Set(d, static_cast<std::int64_t>(magic)))));
  }

  IntegerVec high_;
  IntegerVec middle_;
  IntegerVec low_;
  DoubleVec largest_;
  DoubleVec nan_;
  std::int64_t out_of_range_ = 0;
  std::int64_t vecs_ = 0;
};

// Adds the vectors 0 to count - 1 that `get` returns, and again with care if one of them is out of range.
template <class Get>
HWY_INLINE void add_vectors(std::size_t count, const Get& get, FixedSums& sums_inout) {
  constexpr std::size_t kChunk = 128;
  FixedSums sums = sums_inout;
  for (std::size_t begin = 0; begin < count; begin += kChunk) {
    const std::size_t end = std::min(count, begin + kChunk);
    const FixedSums before = sums;
    for (std::size_t i = begin; i < end; ++i) sums.add(get(i));
    if (HWY_LIKELY(sums.all_in_range())) continue;
    sums = before;
    for (std::size_t i = begin; i < end; ++i) sums.add_carefully(get(i));
  }
  sums_inout = sums;
}

HWY_INLINE DoubleVec load_doubles(const double* from) { return hn::LoadU(Doubles(), from); }
HWY_INLINE DoubleVec load_doubles(const float* from) {
  return hn::PromoteTo(Doubles(), hn::LoadU(hn::Rebind<float, Doubles>(), from));
}
HWY_INLINE IntegerVec load_labels(const std::int64_t* from) { return hn::LoadU(Integers(), from); }
HWY_INLINE IntegerVec load_labels(const std::int32_t* from) {
  return hn::PromoteTo(Integers(), hn::LoadU(hn::Rebind<std::int32_t, Integers>(), from));
}

// Of n values.
template <class Value>
FixedParts sum_values(const void* values, std::int64_t n) {
  const std::size_t lanes = hn::Lanes(Doubles());
  const auto size = static_cast<std::size_t>(n);
  const std::size_t vecs = size / lanes;
  const auto* from = static_cast<const Value*>(values);
  FixedSums sums;
  add_vectors(
      vecs, [=](std::size_t i) HWY_ATTR { return load_doubles(from + i * lanes); }, sums);
  if (vecs * lanes < size) {
    Value rest[hn::MaxLanes(Doubles())] = {};
    std::copy(from + vecs * lanes, from + size, rest);
    sums.add_carefully(load_doubles(rest));
  }
  return sums.parts();
}

// The vectors of values and labels: zeros, which add nothing, where a label is `ignored`.
template <class Value, class Label>
class Labelled {
 public:
  Labelled(const Value* values, const Label* labels, std::int64_t ignored)
      : values_(values), labels_(labels), ignored_(ignored) {}

  HWY_INLINE DoubleVec operator()(std::size_t i) const {
    const std::size_t at = i * hn::Lanes(Doubles());
    return hn::IfThenElseZero(hn::RebindMask(Doubles(), scored(at)), load_doubles(values_ + at));
  }

 private:
  HWY_INLINE hn::Mask<Integers> scored(std::size_t at) const {
    return hn::Ne(load_labels(labels_ + at), hn::Set(Integers(), ignored_));
  }

  const Value* values_;
  const Label* labels_;
  std::int64_t ignored_;
};

// Of the values whose label is not `ignored`, which the labels' type can hold.
template <class Value, class Label>
FixedParts sum_labelled(const void* values, const void* labels, std::int64_t n, std::int64_t ignored) {
  constexpr std::size_t kMost = hn::MaxLanes(Doubles());
  constexpr std::size_t kPiece = 2048;  // its labels are still in the first cache when they are counted
  const auto size = static_cast<std::size_t>(n);
  const auto* from = static_cast<const Value*>(values);
  const auto* label = static_cast<const Label*>(labels);
  const auto skip = static_cast<Label>(ignored);
  FixedSums sums;
  std::int64_t tokens = 0;
  std::size_t at = 0;
  while (size - at >= kMost) {
    const std::size_t vecs = std::min(size - at, kPiece) / kMost;
    add_vectors(vecs, Labelled<Value, Label>(from + at, label + at, ignored), sums);
    tokens += count_labels<Label>(label + at, static_cast<std::int64_t>(vecs * kMost), skip);
    at += vecs * kMost;
  }
  if (at < size) {
    Value rest[kMost] = {};
    Label rest_labels[kMost];
    std::fill_n(rest_labels, kMost, skip);
    std::copy(from + at, from + size, rest);
    std::copy(label + at, label + size, rest_labels);
    sums.add_carefully(Labelled<Value, Label>(rest, rest_labels, ignored)(0));
    tokens += count_labels<Label>(rest_labels, static_cast<std::int64_t>(kMost), skip);
  }
  FixedParts parts = sums.parts();
  parts.tokens = tokens;
  return parts;
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
