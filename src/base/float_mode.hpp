// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tokavg {

// The promise of equal bits holds whatever mode the caller's thread computes in: while one of these lives, results are
// rounded to nearest, and on x86 subnormal numbers are what they are and no exception traps; the flags of exceptions
// are the caller's again at the end.
#if defined(__SSE2__)
// Not with <cfenv>, which asks the old x87 unit and knows nothing of subnormal numbers.
class FloatMode {
 public:
  FloatMode() noexcept : mode_(_mm_getcsr()) {
    if ((mode_ & ~kFlags) != kDefault) _mm_setcsr(kDefault);
  }
  ~FloatMode() {
    if (_mm_getcsr() != mode_) _mm_setcsr(mode_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  static constexpr unsigned kFlags = 0x003fU;
  static constexpr unsigned kDefault = 0x1f80U;  // every exception masked, all else 0
  unsigned mode_;
};
#else
class FloatMode {
 public:
  FloatMode() noexcept : mode_(std::fegetround()) {
    if (mode_ != FE_TONEAREST) std::fesetround(FE_TONEAREST);
  }
  ~FloatMode() {
    if (mode_ != FE_TONEAREST) std::fesetround(mode_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  int mode_;
};
#endif

}  // namespace tokavg
