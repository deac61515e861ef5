// SPDX-License-Identifier: Apache-2.0
// Loads and stores of float, bfloat16 and half, and the fused multiply-add. Included once for each target.
#if defined(TOKAVG_HOST_SIMD_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_LANES_INL_H
#undef TOKAVG_HOST_SIMD_LANES_INL_H
#else
#define TOKAVG_HOST_SIMD_LANES_INL_H
#endif

#include <hwy/highway.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "device/host/half.hpp"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// As TOKAVG_SIMD spells it.
#if HWY_TARGET == HWY_AVX3
constexpr const char* kTargetName = "avx512";
#elif HWY_TARGET == HWY_AVX2
constexpr const char* kTargetName = "avx2";
#elif HWY_TARGET == HWY_NEON
constexpr const char* kTargetName = "neon";
#else
constexpr const char* kTargetName = "portable";
#endif

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;
using Doubles = hn::ScalableTag<double>;
using DoubleVec = hn::Vec<Doubles>;

// a * b + c in one rounding on every target: otherwise two processors would differ in the last bit.
HWY_INLINE FloatVec fused_multiply_add(FloatVec a, FloatVec b, FloatVec c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const Floats d;
  HWY_ALIGN float x[hn::MaxLanes(d)];
  HWY_ALIGN float y[hn::MaxLanes(d)];
  HWY_ALIGN float z[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, x);
#endif
}

HWY_INLINE FloatVec load_floats(const float* from) { return hn::LoadU(Floats(), from); }

HWY_INLINE FloatVec load_floats(const hwy::bfloat16_t* from) {
  return hn::PromoteTo(Floats(), hn::LoadU(hn::Rebind<hwy::bfloat16_t, Floats>(), from));
}

HWY_INLINE FloatVec load_floats(const hwy::float16_t* from) {
#if HWY_TARGET == HWY_SCALAR  // Highway's scalar conversions know no infinities and no NaN
  return hn::Set(Floats(), static_cast<float>(from_half(std::bit_cast<std::uint16_t>(*from), kF16)));
#else
  return hn::PromoteTo(Floats(), hn::LoadU(hn::Rebind<hwy::float16_t, Floats>(), from));
#endif
}

HWY_INLINE void store_floats(FloatVec v, float* to) { hn::StoreU(v, Floats(), to); }

// The bits of v, rounded half to even to those of its upper 16 bits that bfloat16 has; below them is rubbish. In
// integers, for Highway's own demotion may truncate. Not for NaN: the carry could reach its sign.
HWY_INLINE hn::Vec<hn::RebindToUnsigned<Floats>> rounded_to_bf16(FloatVec v) {
  const hn::RebindToUnsigned<Floats> d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1U));
  return hn::Add(hn::Add(bits, hn::Set(d, 0x7fffU)), odd);
}

HWY_INLINE void store_floats(FloatVec v, hwy::float16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  *to = std::bit_cast<hwy::float16_t>(to_half(static_cast<double>(hn::GetLane(v)), kF16));
#else
  const hn::Rebind<hwy::float16_t, Floats> d16;
  hn::StoreU(hn::DemoteTo(d16, v), d16, to);
#endif
}

// One value, rounded once.
HWY_INLINE void store_double(double value, float* to) { *to = static_cast<float>(value); }
HWY_INLINE void store_double(double value, hwy::bfloat16_t* to) {
  *to = std::bit_cast<hwy::bfloat16_t>(to_half(value, kBf16));
}
HWY_INLINE void store_double(double value, hwy::float16_t* to) {
  *to = std::bit_cast<hwy::float16_t>(to_half(value, kF16));
}

HWY_INLINE double load_double(const float* from) { return static_cast<double>(*from); }
HWY_INLINE double load_double(const hwy::bfloat16_t* from) {
  return from_half(std::bit_cast<std::uint16_t>(*from), kBf16);
}
HWY_INLINE double load_double(const hwy::float16_t* from) {
  return from_half(std::bit_cast<std::uint16_t>(*from), kF16);
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
