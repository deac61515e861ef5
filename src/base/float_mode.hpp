// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__SSE2__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace tokavg {

// The promise of equal bits holds whatever mode the caller's thread computes in: while one of these lives, results are
// rounded to nearest and subnormal numbers are what they are.
#if defined(__SSE2__)
// Not with <cfenv>, which asks the old x87 unit and knows nothing of subnormal numbers.
class FloatMode {
 public:
  FloatMode() noexcept : mode_(_mm_getcsr()) {
    if ((mode_ & kChanged) != 0) _mm_setcsr(mode_ & ~kChanged);
  }
  ~FloatMode() {
    if ((mode_ & kChanged) != 0) _mm_setcsr(mode_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
  // Rounding, flush to zero, denormals are zero: all 0 by default.
  static constexpr unsigned kChanged = 0x6000U | 0x8000U | 0x0040U;
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
