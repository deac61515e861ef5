// SPDX-License-Identifier: Apache-2.0
#include "device/host/half.hpp"

#include <algorithm>
#include <bit>

namespace tokavg::host {
namespace {

constexpr int kDoubleFraction = 52;
constexpr int kDoubleBias = 1023;
constexpr std::uint64_t kOne = 1;
constexpr std::uint64_t kDoubleSpecial = 0x7ff;  // the exponent field of infinities and NaN

constexpr int bias(HalfFormat format) { return (1 << (format.exponent_bits - 1)) - 1; }
constexpr std::uint64_t special(HalfFormat format) { return (kOne << format.exponent_bits) - 1; }

std::uint64_t shift_right_half_even(std::uint64_t value, int shift) {
  if (shift >= 64) return 0;  // value < 2^53: less than half a unit
  const std::uint64_t whole = value >> shift;
  const std::uint64_t rest = value & ((kOne << shift) - 1);
  const std::uint64_t half = kOne << (shift - 1);
  return whole + ((rest > half || (rest == half && (whole & 1U) != 0)) ? 1U : 0U);
}

}  // namespace

double from_half(std::uint16_t bits, HalfFormat format) noexcept {
  const std::uint64_t sign = static_cast<std::uint64_t>(bits >> 15) << 63;
  const std::uint64_t exponent = (static_cast<std::uint64_t>(bits) >> format.fraction_bits) & special(format);
  const std::uint64_t fraction = bits & ((kOne << format.fraction_bits) - 1);
  const std::uint64_t wide_fraction = fraction << (kDoubleFraction - format.fraction_bits);
  if (exponent == special(format))
    return std::bit_cast<double>(sign | kDoubleSpecial << kDoubleFraction | wide_fraction);
  const auto rebias = static_cast<std::uint64_t>(kDoubleBias - bias(format));
  if (exponent == 0) {
    const std::uint64_t smallest = (rebias + 1 - static_cast<std::uint64_t>(format.fraction_bits)) << kDoubleFraction;
    const double magnitude = static_cast<double>(fraction) * std::bit_cast<double>(smallest);
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<double>(sign | (exponent + rebias) << kDoubleFraction | wide_fraction);
}

std::uint16_t to_half(double value, HalfFormat format) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = bits >> 63 << 15;
  const std::uint64_t exponent = (bits >> kDoubleFraction) & kDoubleSpecial;
  const std::uint64_t fraction = bits & ((kOne << kDoubleFraction) - 1);
  const std::uint64_t infinity = special(format) << format.fraction_bits;
  if (exponent == kDoubleSpecial && fraction != 0) {
    const std::uint64_t quiet = kOne << (format.fraction_bits - 1);
    return static_cast<std::uint16_t>(sign | infinity | quiet | fraction >> (kDoubleFraction - format.fraction_bits));
  }
  // A subnormal double is far below half of the smallest half, so its missing hidden bit makes no difference.
  const std::uint64_t mantissa = fraction | kOne << kDoubleFraction;
  const int wanted = static_cast<int>(exponent) - kDoubleBias + bias(format);
  const int field = std::max(wanted, 1);  // subnormals share the scale of field 1 and have no hidden bit
  const int drop = kDoubleFraction - format.fraction_bits + (field - wanted);
  // The hidden bit, or a carry of the rounding, adds itself to the exponent field.
  const std::uint64_t rounded =
      (static_cast<std::uint64_t>(field - 1) << format.fraction_bits) + shift_right_half_even(mantissa, drop);
  return static_cast<std::uint16_t>(sign | std::min(rounded, infinity));
}

}  // namespace tokavg::host
