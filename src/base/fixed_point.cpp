// SPDX-License-Identifier: Apache-2.0
#include "base/fixed_point.hpp"

#include <bit>

namespace tokavg {
namespace {

constexpr std::uint64_t kLow32 = 0xffffffffU;
constexpr Int128 kMostNegative = static_cast<Int128>(1) << 127;

}  // namespace

Int128 FixedSum::to_units(double x) noexcept {
  // In integers, not with nearbyint: that would follow the rounding mode of the caller's thread.
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const int biased = static_cast<int>((bits >> 52) & 0x7ffU);
  const std::uint64_t fraction = bits & 0xfffffffffffffU;
  const std::uint64_t mantissa = biased == 0 ? fraction : fraction | (std::uint64_t{1} << 52);
  const int shift = (biased == 0 ? 1 : biased) - 1075 + kFractionBits;  // x * 2^72 = mantissa * 2^shift
  Int128 units = 0;
  if (shift >= 0) {
    units = static_cast<Int128>(mantissa) << shift;
  } else if (shift > -64) {
    const int down = -shift;
    const std::uint64_t whole = mantissa >> down;
    const std::uint64_t rest = mantissa & ((std::uint64_t{1} << down) - 1);
    const std::uint64_t half = std::uint64_t{1} << (down - 1);
    const bool up = rest > half || (rest == half && (whole & 1U) != 0);
    units = static_cast<Int128>(up ? whole + 1 : whole);
  }
  return (bits >> 63) != 0 ? -units : units;
}

void FixedSum::add_units(Int128 units) noexcept {
  if (__builtin_add_overflow(units_, units, &units_)) wraps_ += units < 0 ? -1 : 1;
}

void FixedSum::add(const FixedSum& other) noexcept {
  marked_ = marked_ || other.marked_;
  wraps_ += other.wraps_;
  add_units(other.units_);
}

bool FixedSum::too_large() const noexcept { return marked_ || wraps_ != 0 || units_ == kMostNegative; }

double FixedSum::value() const noexcept { return static_cast<double>(units_) * 0x1p-72; }

Limbs to_limbs(const FixedSum& sum) noexcept {
  if (sum.too_large()) return {};
  const Int128 units = sum.units();
  return {static_cast<std::uint64_t>(units) & kLow32, static_cast<std::uint64_t>(units >> 32) & kLow32,
          static_cast<std::uint64_t>(units >> 64) & kLow32, static_cast<std::uint64_t>(units >> 96)};
}

FixedSum from_limbs(Limbs summed, std::uint64_t tokens) noexcept {
  // tokens * 2^72 = (tokens * 2^8) * 2^64, which the upper two limbs have room for.
  summed[2] += (tokens & 0xffffffU) << 8;
  summed[3] += tokens >> 24;
  // Carry from limb to limb; only the last one can then be too wide.
  summed[1] += summed[0] >> 32;
  summed[2] += summed[1] >> 32;
  const auto top = static_cast<std::int64_t>(summed[3] + (summed[2] >> 32));
  FixedSum sum;
  if (top > INT32_MAX || top < INT32_MIN) {
    sum.mark_too_large();
    return sum;
  }
  const auto low = static_cast<Int128>((summed[1] << 32) | (summed[0] & kLow32));
  const auto middle = static_cast<Int128>(summed[2] & kLow32) << 64;
  sum.add_units(static_cast<Int128>(top) * (static_cast<Int128>(1) << 96) + middle + low);
  return sum;
}

}  // namespace tokavg
