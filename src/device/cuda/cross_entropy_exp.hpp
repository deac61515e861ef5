// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "device/cuda/gpu.hpp"

// The exponential of cross entropy, and what is made of it for a logit cap. All of it is multiply-adds that are written
// out and integer operations, so that every processor (and the emulator) gets the same bits.
namespace tokavg::cuda {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kLog2E = 0x1.715476p0F;
inline constexpr float kLog2ELow = 0x1.4ae0c0p-26F;  // log2 e - kLog2E
inline constexpr float kLn2 = 0x1.62e430p-1F;
inline constexpr float kLeastExponent = -87.0F;

// NaN if a is, as the plain maximum is not.
__device__ inline float larger_or_nan(float a, float b) {
#if defined(__CUDA_ARCH__)
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
#else
  return a < b ? b : a;
#endif
}

// 2^x, off by up to 2 units in the last place; 0 where that would be subnormal.
__device__ inline float quick_exp2(float x) {
#if defined(__CUDA_ARCH__)
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return x < -126.0F ? 0.0F : std::exp2(x);
#endif
}

// e^x / 2^exponent for x from 87 below to 87 above exponent * ln 2; below, that of 87 below. NaN for NaN. |exponent| is
// at most 2^20.
//
// e^x = 2^n 2^r with n = round(x log2 e): the magic number 1.5 * 2^23 leaves n in the lowest bits of t, which become
// the exponent of a power of two; 2^r is a polynomial of degree 6 with minimal relative error on [-1/2, 1/2] (that of
// host/simd/exp-inl.h). log2 e in two parts: x is no difference, and may be many times r.
class ScaledExp {
 public:
  __device__ explicit ScaledExp(int exponent) {
    magic_ = 0x1.8p23F + static_cast<float>(127 - exponent);
    least_ = __fmaf_rn(static_cast<float>(exponent), kLn2, kLeastExponent);
  }

  // Their product is exact, and so is a multiply-add of them.
  struct Parts {
    float digits;
    float power;
  };

  __device__ Parts parts(float x) const {
    x = larger_or_nan(x, least_);
    const float t = __fmaf_rn(x, kLog2E, magic_);
    const float n = __fsub_rn(t, magic_);
    const float r = __fmaf_rn(x, kLog2ELow, __fmaf_rn(x, kLog2E, -n));
    float p = 0x1.41d332p-13F;
    p = __fmaf_rn(p, r, 0x1.5f456ap-10F);
    p = __fmaf_rn(p, r, 0x1.3b2dbcp-7F);
    p = __fmaf_rn(p, r, 0x1.c6aed4p-5F);
    p = __fmaf_rn(p, r, 0x1.ebfbdap-3F);
    p = __fmaf_rn(p, r, 0x1.62e430p-1F);
    p = __fmaf_rn(p, r, 1.0F);
    return {p, __uint_as_float(__float_as_uint(t) << 23)};
  }

  __device__ float operator()(float x) const {
    const Parts e = parts(x);
    return __fmul_rn(e.digits, e.power);
  }

  // 0 in place of the least: what has no probability has no gradient.
  __device__ float or_zero(float x) const { return x <= least_ ? 0.0F : (*this)(x); }

 private:
  float magic_;
  float least_;
};

// tanh |u| = (1 - E) / (1 + E) with E = exp(-2 |u|), and below 0.625, where that would lose digits, u + u^3 P(u^2) with
// the Chebyshev interpolant P of degree 4 (relative error 1.7e-8).
__device__ inline float tanh_float(float u) {
  const float e = ScaledExp(0)(-2.0F * std::fabs(u));
  const float large = std::copysign(__fdiv_rn(1.0F - e, 1.0F + e), u);
  const float z = __fmul_rn(u, u);
  float p = -0x1.8f8de4p-8F;
  p = __fmaf_rn(p, z, 0x1.58048ep-6F);
  p = __fmaf_rn(p, z, -0x1.b9258ap-5F);
  p = __fmaf_rn(p, z, 0x1.110e1cp-3F);
  p = __fmaf_rn(p, z, -0x1.555552p-2F);
  const float small = __fmaf_rn(__fmul_rn(u, z), p, u);
  return std::fabs(u) < 0.625F ? small : large;
}

// 1 - tanh(u)^2 = 4 E / (1 + E)^2, which keeps its digits where tanh is nearly 1.
__device__ inline float tanh_slope_float(float u) {
  const float e = ScaledExp(0).or_zero(-2.0F * std::fabs(u));
  const float q = 1.0F + e;
  return __fdiv_rn(4.0F * e, __fmul_rn(q, q));
}

// Never infinite: times the 0 of a class without any probability that would be NaN.
__device__ inline float to_finite_float(double value) {
  constexpr auto kMost = static_cast<double>(std::numeric_limits<float>::max());
  return static_cast<float>(value > kMost ? kMost : value < -kMost ? -kMost : value);
}

// What becomes of a logit before its exponential is taken, and of a gradient afterwards.
struct NoCap {
  static constexpr bool kCapped = false;
  static constexpr int kBlocks = 3;  // of a processor, at once: their registers, and three chunks in shared memory
  __host__ __device__ explicit NoCap(double /*cap*/) {}
  __device__ float apply(float logit) const { return logit; }
  __device__ float chain(float slope, float /*logit*/) const { return slope; }
  __device__ double apply(double logit) const { return logit; }
  __device__ double slope_at(double /*logit*/) const { return 1; }
};

struct Cap {
  static constexpr bool kCapped = true;
  static constexpr int kBlocks = 2;
  __host__ __device__ explicit Cap(double cap)
      : wide_(cap), cap_(static_cast<float>(cap)), inverse_(static_cast<float>(1 / cap)) {}
  __device__ float apply(float logit) const {
    if (!float_can()) return to_finite_float(apply(static_cast<double>(logit)));
    return __fmul_rn(cap_, tanh_float(__fmul_rn(logit, inverse_)));
  }
  __device__ float chain(float slope, float logit) const {
    if (!float_can()) return static_cast<float>(static_cast<double>(slope) * slope_at(static_cast<double>(logit)));
    return __fmul_rn(slope, tanh_slope_float(__fmul_rn(logit, inverse_)));
  }
  __device__ double apply(double logit) const { return wide_ * std::tanh(logit / wide_); }
  __device__ double slope_at(double logit) const {
    const double sech = 1 / std::cosh(logit / wide_);
    return sech * sech;
  }

 private:
  // Beyond, 1 / cap or cap * tanh leave the range of float.
  __device__ bool float_can() const { return wide_ >= 0x1p-60 && wide_ <= 0x1p60; }

  double wide_;
  float cap_;
  float inverse_;
};

// Whether quick_exp2 takes the exponentials of a gradient: two units in the last place of float are nothing beside the
// rounding to 16 bits.
template <typename Stored, typename CapKind>
inline constexpr bool kQuick = sizeof(Stored) < sizeof(float) && !CapKind::kCapped;

}  // namespace tokavg::cuda
