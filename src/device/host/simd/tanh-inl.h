// SPDX-License-Identifier: Apache-2.0
// The hyperbolic tangent of a logit cap, and its slope. Included once for each target.
#if defined(TOKAVG_HOST_SIMD_TANH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TOKAVG_HOST_SIMD_TANH_INL_H
#undef TOKAVG_HOST_SIMD_TANH_INL_H
#else
#define TOKAVG_HOST_SIMD_TANH_INL_H
#endif

#include "device/host/simd/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

// exp(-2 |u|)
HWY_INLINE FloatVec exp_minus_twice(FloatVec u) { return exp_floats(hn::Mul(hn::Abs(u), hn::Set(Floats(), -2.0F))); }

// Not for NaN. tanh |u| = (1 - E) / (1 + E) with E = exp(-2 |u|), and below 0.625, where that would lose digits,
// u + u^3 P(u^2) with the Chebyshev interpolant P of degree 4 (relative error 1.7e-8).
HWY_INLINE FloatVec tanh_floats(FloatVec u) {
  const Floats d;
  const FloatVec one = hn::Set(d, 1.0F);
  const FloatVec e = exp_minus_twice(u);
  const FloatVec large = hn::CopySignToAbs(hn::Div(hn::Sub(one, e), hn::Add(one, e)), u);
  const FloatVec z = hn::Mul(u, u);
  FloatVec p = hn::Set(d, -0x1.8f8de4p-8F);
  p = fused_multiply_add(p, z, hn::Set(d, 0x1.58048ep-6F));
  p = fused_multiply_add(p, z, hn::Set(d, -0x1.b9258ap-5F));
  p = fused_multiply_add(p, z, hn::Set(d, 0x1.110e1cp-3F));
  p = fused_multiply_add(p, z, hn::Set(d, -0x1.555552p-2F));
  const FloatVec small = fused_multiply_add(hn::Mul(u, z), p, u);
  return hn::IfThenElse(hn::Lt(hn::Abs(u), hn::Set(d, 0.625F)), small, large);
}

// 1 - tanh(u)^2 = 4 E / (1 + E)^2, which keeps its digits where tanh is nearly 1.
HWY_INLINE FloatVec tanh_slope_floats(FloatVec u) {
  const FloatVec e = without_least(exp_minus_twice(u));
  const FloatVec q = hn::Add(hn::Set(Floats(), 1.0F), e);
  return hn::Div(hn::Mul(hn::Set(Floats(), 4.0F), e), hn::Mul(q, q));
}

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
