// SPDX-License-Identifier: Apache-2.0
// The exponential of cross entropy. Included once for each target.
#if defined(TOKAVG_HOST_SIMD_EXP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_EXP_INL_H
#undef TOKAVG_HOST_SIMD_EXP_INL_H
#else
#define TOKAVG_HOST_SIMD_EXP_INL_H
#endif

#include "device/host/simd/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

constexpr float kLeastExponent = -87.0F;

// e^x for x <= 88; for x < -87, where the result would soon be subnormal, that of -87. Not for NaN.
//
// e^x = 2^n 2^r with n = round(x log2 e): the magic number 1.5 * 2^23 leaves n in the lowest bits of t, from where it
// is added to the exponent of 2^r, a polynomial of degree 6 with minimal relative error on [-1/2, 1/2].
HWY_INLINE FloatVec exp_floats(FloatVec x) {
  const Floats d;
  const hn::RebindToSigned<Floats> bits;
  x = hn::Max(x, hn::Set(d, kLeastExponent));
  const FloatVec log2_e = hn::Set(d, 1.44269504F);
  const FloatVec magic = hn::Set(d, 12582912.0F);
  const FloatVec t = fused_multiply_add(x, log2_e, magic);
  const FloatVec n = hn::Sub(t, magic);
#if HWY_NATIVE_FMA
  const FloatVec r = hn::MulSub(x, log2_e, n);
#else
  const FloatVec r = fused_multiply_add(x, log2_e, hn::Neg(n));
#endif
  FloatVec p = hn::Set(d, 0x1.41d332p-13F);
  p = fused_multiply_add(p, r, hn::Set(d, 0x1.5f456ap-10F));
  p = fused_multiply_add(p, r, hn::Set(d, 0x1.3b2dbcp-7F));
  p = fused_multiply_add(p, r, hn::Set(d, 0x1.c6aed4p-5F));
  p = fused_multiply_add(p, r, hn::Set(d, 0x1.ebfbdap-3F));
  p = fused_multiply_add(p, r, hn::Set(d, 0x1.62e430p-1F));
  p = fused_multiply_add(p, r, hn::Set(d, 1.0F));
  return hn::BitCast(d, hn::Add(hn::BitCast(bits, p), hn::ShiftLeft<23>(hn::BitCast(bits, t))));
}

// e, a result of exp_floats(), with 0 in place of the least: what has no probability has no gradient.
HWY_INLINE FloatVec without_least(FloatVec e) {
  return hn::IfThenElseZero(hn::Gt(e, exp_floats(hn::Set(Floats(), kLeastExponent))), e);
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
