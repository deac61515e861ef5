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
#include "device/host/simd/kernels.hpp"
#include "device/host/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

using Integers = hn::RebindToSigned<Doubles>;
using IntegerVec = hn::Vec<Integers>;

// x is cut into multiples of 2^-8, of 2^-40 and, rounded half to even, of 2^-72. Adding 1.5 * 2^52 rounds to an integer
// and leaves it in the lowest bits of the sum, which are added as they are; what the number itself added comes off at
// the end. Every product and difference here is exact, so a multiply-add that rounds twice does no harm.
class FixedSums {
 public:
  // Written out: a compiler would make its own one without the target's instructions.
  HWY_INLINE FixedSums() : high_(hn::Zero(Integers())), middle_(high_), low_(high_) {}

  HWY_INLINE void add(DoubleVec x) {
    const Doubles d;
    const DoubleVec magic = hn::Set(d, kMagic);
    const auto in_range = hn::Lt(hn::Abs(x), hn::Set(d, kTokenLimit));
    in_range_ += hn::CountTrue(d, in_range);
    x = hn::Mul(hn::IfThenElseZero(in_range, x), hn::Set(d, 0x1p8));
    DoubleVec t = hn::Add(x, magic);
    high_ = hn::Add(high_, hn::BitCast(Integers(), t));
    x = hn::Mul(hn::Sub(x, hn::Sub(t, magic)), hn::Set(d, 0x1p32));
    t = hn::Add(x, magic);
    middle_ = hn::Add(middle_, hn::BitCast(Integers(), t));
    x = hn::Mul(hn::Sub(x, hn::Sub(t, magic)), hn::Set(d, 0x1p32));
    low_ = hn::Add(low_, hn::BitCast(Integers(), hn::Add(x, magic)));
    ++vecs_;
  }

  [[nodiscard]] FixedParts parts() const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(Doubles()));
    return {total(high_), total(middle_), total(low_), vecs_ * lanes - static_cast<std::int64_t>(in_range_)};
  }

 private:
  static constexpr double kMagic = 0x1.8p52;

  [[nodiscard]] std::int64_t total(IntegerVec lanes) const {
    const Integers d;
    const auto each = hn::Set(d, static_cast<std::int64_t>(static_cast<std::uint64_t>(vecs_) * kMagicBits));
    return hn::GetLane(hn::SumOfLanes(d, hn::Sub(lanes, each)));
  }

  static constexpr std::uint64_t kMagicBits = std::bit_cast<std::uint64_t>(kMagic);
  IntegerVec high_;
  IntegerVec middle_;
  IntegerVec low_;
  std::size_t in_range_ = 0;
  std::int64_t vecs_ = 0;
};

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
  const auto* from = static_cast<const Value*>(values);
  FixedSums sums;
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) sums.add(load_doubles(from + i));
  if (i < size) {
    Value rest[hn::MaxLanes(Doubles())] = {};
    std::copy(from + i, from + size, rest);
    sums.add(load_doubles(rest));
  }
  return sums.parts();
}

// Of those whose label is not `ignored`. The others are zeros, which add nothing.
template <class Value, class Label>
FixedParts sum_labelled(const void* values, const void* labels, std::int64_t n, std::int64_t ignored) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  const auto size = static_cast<std::size_t>(n);
  const auto* from = static_cast<const Value*>(values);
  const auto* label = static_cast<const Label*>(labels);
  const IntegerVec skip = hn::Set(Integers(), ignored);
  FixedSums sums;
  std::size_t tokens = 0;
  const auto add = [&](const Value* v, const Label* y) HWY_ATTR {
    const auto scored = hn::Ne(load_labels(y), skip);
    tokens += hn::CountTrue(Integers(), scored);
    sums.add(hn::IfThenElseZero(hn::RebindMask(d, scored), load_doubles(v)));
  };
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) add(from + i, label + i);
  if (i < size) {
    Value rest[hn::MaxLanes(d)] = {};
    Label rest_labels[hn::MaxLanes(d)];
    std::fill_n(rest_labels, hn::MaxLanes(d), static_cast<Label>(ignored));
    std::copy(from + i, from + size, rest);
    std::copy(label + i, label + size, rest_labels);
    add(rest, rest_labels);
  }
  FixedParts parts = sums.parts();
  parts.tokens = static_cast<std::int64_t>(tokens);
  return parts;
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
