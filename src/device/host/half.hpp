// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// bfloat16 and IEEE binary16, by integer arithmetic alone: no compiler's or processor's idea of a half is involved.
namespace tokavg::host {

struct HalfFormat {
  int exponent_bits;
  int fraction_bits;
};

inline constexpr HalfFormat kBf16{8, 7};
inline constexpr HalfFormat kF16{5, 10};

// Exact. A NaN keeps its sign and payload.
double from_half(std::uint16_t bits, HalfFormat format) noexcept;

// Rounded once, to nearest even; overflows to infinity, a NaN becomes quiet.
std::uint16_t to_half(double value, HalfFormat format) noexcept;

}  // namespace tokavg::host
