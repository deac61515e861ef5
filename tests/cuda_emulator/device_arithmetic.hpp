// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

// CUDA's arithmetic intrinsics, for code that is compiled with -ffp-contract=off: what is not written as fma rounds
// twice. __expf and its kind are the exact functions here, better than a GPU's approximations.

inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }

inline int __double2hiint(double value) { return static_cast<int>(__double_as_longlong(value) >> 32); }
inline int __double2loint(double value) { return static_cast<int>(__double_as_longlong(value)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<long long>(static_cast<unsigned>(low)));
}

inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1.0F / a; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }

inline float __fdividef(float a, float b) { return a / b; }
inline float rsqrtf(float a) { return 1.0F / std::sqrt(a); }
inline double rsqrt(double a) { return 1.0 / std::sqrt(a); }

namespace cuda_emulator {

// CUDA saturates where C++ leaves the result open; NaN gives 0 as 32 bits and the lowest value as 64 bits.
template <typename Integer, typename Real>
Integer to_integer(Real value) {
  constexpr Integer kLowest = std::numeric_limits<Integer>::min();
  constexpr Integer kHighest = std::numeric_limits<Integer>::max();
  if (std::isnan(value)) return sizeof(Integer) == 8 ? static_cast<Integer>(std::uint64_t{1} << 63) : Integer{0};
  if (value <= static_cast<Real>(kLowest)) return kLowest;
  if (value >= static_cast<Real>(kHighest)) return kHighest;
  return static_cast<Integer>(value);
}

}  // namespace cuda_emulator

inline int __float2int_rn(float value) { return cuda_emulator::to_integer<int>(std::nearbyint(value)); }
inline int __float2int_rz(float value) { return cuda_emulator::to_integer<int>(std::trunc(value)); }
inline unsigned __float2uint_rn(float value) { return cuda_emulator::to_integer<unsigned>(std::nearbyint(value)); }
inline long long __float2ll_rn(float value) { return cuda_emulator::to_integer<long long>(std::nearbyint(value)); }
inline int __double2int_rn(double value) { return cuda_emulator::to_integer<int>(std::nearbyint(value)); }
inline int __double2int_rz(double value) { return cuda_emulator::to_integer<int>(std::trunc(value)); }
inline long long __double2ll_rn(double value) { return cuda_emulator::to_integer<long long>(std::nearbyint(value)); }
inline long long __double2ll_rz(double value) { return cuda_emulator::to_integer<long long>(std::trunc(value)); }
inline unsigned long long __double2ull_rn(double value) {
  return cuda_emulator::to_integer<unsigned long long>(std::nearbyint(value));
}
inline float __double2float_rn(double value) { return static_cast<float>(value); }
inline float __int2float_rn(int value) { return static_cast<float>(value); }
inline float __uint2float_rn(unsigned value) { return static_cast<float>(value); }
inline float __ll2float_rn(long long value) { return static_cast<float>(value); }
inline float __ull2float_rn(unsigned long long value) { return static_cast<float>(value); }
inline double __int2double_rn(int value) { return static_cast<double>(value); }
inline double __uint2double_rn(unsigned value) { return static_cast<double>(value); }
inline double __ll2double_rn(long long value) { return static_cast<double>(value); }
inline double __ull2double_rn(unsigned long long value) { return static_cast<double>(value); }

inline int __clz(int value) { return std::countl_zero(static_cast<unsigned>(value)); }
inline int __clzll(long long value) { return std::countl_zero(static_cast<unsigned long long>(value)); }
inline int __popc(unsigned value) { return std::popcount(value); }
inline int __popcll(unsigned long long value) { return std::popcount(value); }
inline int __ffs(int value) { return value == 0 ? 0 : std::countr_zero(static_cast<unsigned>(value)) + 1; }
inline int __ffsll(long long value) {
  return value == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(value)) + 1;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  const std::uint64_t a_high = a >> 32, a_low = a & 0xffffffffU, b_high = b >> 32, b_low = b & 0xffffffffU;
  const std::uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
  return a_high * b_high + (middle >> 32) + ((a_low * b_high + (middle & 0xffffffffU)) >> 32);
}
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<std::int64_t>(a) * b >> 32); }
