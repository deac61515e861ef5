// SPDX-License-Identifier: Apache-2.0
// Scaling in place, computed in double and rounded once. Included once for each target.
#if defined(TOKAVG_HOST_SIMD_SCALE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_SCALE_INL_H
#undef TOKAVG_HOST_SIMD_SCALE_INL_H
#else
#define TOKAVG_HOST_SIMD_SCALE_INL_H
#endif

#include <algorithm>

#include "device/host/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

// As many elements as a vector has doubles.
template <class Stored>
using Few = hn::Rebind<Stored, Doubles>;

HWY_INLINE hn::Vec<Few<float>> to_floats(DoubleVec v) {
#if HWY_TARGET == HWY_SCALAR  // Highway's own keeps within the range of float
  return hn::Set(Few<float>(), static_cast<float>(hn::GetLane(v)));
#else
  return hn::DemoteTo(Few<float>(), v);
#endif
}

// A double whose rounding to a 16-bit type gives the same as that of v, and which float holds exactly: 13 digits, the
// last of which says whether anything was cut off ("round to odd").
HWY_INLINE hn::Vec<Few<float>> cut_for_halves(DoubleVec v) {
  const hn::RebindToUnsigned<Doubles> d;
  const auto rest = hn::Set(d, (std::uint64_t{1} << 40) - 1);
  const auto bits = hn::BitCast(d, v);
  const auto sticky = hn::Add(hn::And(bits, rest), rest);  // carries into bit 40 if there is a rest
  return to_floats(hn::BitCast(Doubles(), hn::AndNot(rest, hn::Or(bits, sticky))));
}

HWY_INLINE DoubleVec load_few(const double* from) { return hn::LoadU(Doubles(), from); }
HWY_INLINE DoubleVec load_few(const float* from) { return hn::PromoteTo(Doubles(), hn::LoadU(Few<float>(), from)); }
template <class Half>
HWY_INLINE DoubleVec load_few(const Half* from) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(Doubles(), load_double(from));
#else
  return hn::PromoteTo(Doubles(), hn::PromoteTo(Few<float>(), hn::LoadU(Few<Half>(), from)));
#endif
}

HWY_INLINE void store_few(DoubleVec v, double* to) { hn::StoreU(v, Doubles(), to); }
HWY_INLINE void store_few(DoubleVec v, float* to) { hn::StoreU(to_floats(v), Few<float>(), to); }

HWY_INLINE void store_few(DoubleVec v, hwy::float16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  store_double(hn::GetLane(v), to);
#else
  hn::StoreU(hn::DemoteTo(Few<hwy::float16_t>(), cut_for_halves(v)), Few<hwy::float16_t>(), to);
#endif
}

HWY_INLINE void store_few(DoubleVec v, hwy::bfloat16_t* to) {
  const Few<float> d;
  const Few<std::uint32_t> bits;
  const auto cut = cut_for_halves(v);
  // A NaN must not be rounded: the carry could reach its sign.
  const auto nan = hn::BitCast(d, hn::And(hn::BitCast(bits, cut), hn::Set(bits, 0xffff0000U)));
  const auto x = hn::BitCast(bits, hn::IfThenElse(hn::Eq(cut, cut), cut, nan));
  const auto odd = hn::And(hn::ShiftRight<16>(x), hn::Set(bits, 1U));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(x, hn::Set(bits, 0x7fffU)), odd));
  hn::StoreU(hn::DemoteTo(Few<std::uint16_t>(), hn::BitCast(Few<std::int32_t>(), rounded)), Few<std::uint16_t>(),
             reinterpret_cast<std::uint16_t*>(to));
}

template <class Stored>
void scale_values(void* data, std::int64_t count, double factor) {
  const std::size_t lanes = hn::Lanes(Doubles());
  const auto size = static_cast<std::size_t>(count);
  const DoubleVec f = hn::Set(Doubles(), factor);
  auto* at = static_cast<Stored*>(data);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) store_few(hn::Mul(load_few(at + i), f), at + i);
  if (i < size) {
    Stored rest[hn::MaxLanes(Doubles())] = {};
    std::copy(at + i, at + size, rest);
    store_few(hn::Mul(load_few(rest), f), rest);
    std::copy(rest, rest + (size - i), at + i);
  }
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
