// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace tokavg {

__extension__ using Int128 = __int128;
__extension__ using UInt128 = unsigned __int128;

// Sums of weights and losses that do not depend on the order of their parts: a 128-bit integer times 2^-72.
//
// Each value is rounded once (half to even) to a multiple of 2^-72; from then on everything is integer addition.
// All of it is integer arithmetic, constexpr so that GPUs run the very same code.
//
// Exact for every float32 with |x| >= 2^-49 and every double with |x| >= 2^-20; otherwise off by at most 2^-73.
inline constexpr int kFractionBits = 72;
inline constexpr double kTokenLimit = 0x1p22;  // |x| of one token must be below
inline constexpr double kSumLimit = 0x1p54;    // |x| of a value that is already a sum may reach it

class FixedSum {
 public:
  // Adds a finite x, |x| <= kSumLimit. The rounding mode of the caller has no say.
  constexpr void add(double x) noexcept { add_units(to_units(x)); }
  // Adds whole units of 2^-72.
  constexpr void add_units(Int128 units) noexcept {
    const Int128 before = units_;
    units_ = static_cast<Int128>(static_cast<UInt128>(units_) + static_cast<UInt128>(units));
    const bool overflowed = (before < 0) == (units < 0) && (units_ < 0) != (before < 0);
    if (overflowed) wraps_ += units < 0 ? -1 : 1;
  }
  constexpr void add(const FixedSum& other) noexcept {
    marked_ = marked_ || other.marked_;
    wraps_ += other.wraps_;
    add_units(other.units_);
  }
  constexpr void mark_too_large() noexcept { marked_ = true; }

  // Whether |sum| >= 2^127: that depends on the sum alone, not on what it passed through on the way, for the order of
  // the parts must not show. units() and value() mean nothing then.
  [[nodiscard]] constexpr bool too_large() const noexcept {
    return marked_ || wraps_ != 0 || units_ == static_cast<Int128>(UInt128{1} << 127);
  }
  [[nodiscard]] constexpr Int128 units() const noexcept { return units_; }
  // Correctly rounded.
  [[nodiscard]] constexpr double value() const noexcept { return to_double(units_) * 0x1p-72; }
  [[nodiscard]] bool operator==(const FixedSum&) const noexcept = default;

  // x * 2^72, rounded half to even: not with nearbyint, which would follow the rounding mode of the caller's thread.
  static constexpr Int128 to_units(double x) noexcept {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const int biased = static_cast<int>((bits >> 52) & 0x7ffU);
    const std::uint64_t fraction = bits & 0xfffffffffffffU;
    const std::uint64_t mantissa = biased == 0 ? fraction : fraction | (std::uint64_t{1} << 52);
    const int shift = (biased == 0 ? 1 : biased) - 1075 + kFractionBits;  // x * 2^72 = mantissa * 2^shift
    Int128 units = 0;
    if (shift >= 0) {
      units = static_cast<Int128>(mantissa) << shift;
    } else if (shift > -64) {
      units = static_cast<Int128>(round_shift(mantissa, -shift));
    }
    return (bits >> 63) != 0 ? -units : units;
  }

 private:
  // value / 2^down, rounded half to even; 0 < down < the width of Unsigned.
  template <typename Unsigned>
  static constexpr Unsigned round_shift(Unsigned value, int down) noexcept {
    const Unsigned whole = value >> down;
    const Unsigned rest = value & ((Unsigned{1} << down) - 1);
    const Unsigned half = Unsigned{1} << (down - 1);
    const bool up = rest > half || (rest == half && (whole & 1U) != 0);
    return up ? whole + 1 : whole;
  }

  // Not the compiler's conversion: a GPU's need not round the same way.
  static constexpr double to_double(Int128 units) noexcept {
    const bool negative = units < 0;
    UInt128 magnitude = negative ? -static_cast<UInt128>(units) : static_cast<UInt128>(units);
    int top_bit = 0;
    for (int step = 64; step > 0; step /= 2) {
      if (magnitude >> (top_bit + step) != 0) top_bit += step;
    }
    const int down = top_bit < 53 ? 0 : top_bit - 52;
    if (down > 0) magnitude = round_shift(magnitude, down);  // at most 2^53
    const auto power_of_two = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + down) << 52);
    const double value = static_cast<double>(static_cast<std::int64_t>(magnitude)) * power_of_two;
    return negative ? -value : value;
  }

  Int128 units_ = 0;        // the sum modulo 2^128
  std::int64_t wraps_ = 0;  // and how many times 2^128 must be added to it
  bool marked_ = false;     // found to be too large elsewhere
};

// The same sum cut for a message: four limbs of radix 2^32 (0 to 2 in [0, 2^32), 3 signed, two's complement), so that
// plain 64-bit addition over up to 2^31 ranks cannot carry from one limb into the next.
using Limbs = std::array<std::uint64_t, 4>;

// Zeros when the sum is too large: that travels in a word of its own.
constexpr Limbs to_limbs(const FixedSum& sum) noexcept {
  if (sum.too_large()) return {};
  const Int128 units = sum.units();
  constexpr std::uint64_t kLow32 = 0xffffffffU;
  return {static_cast<std::uint64_t>(units) & kLow32, static_cast<std::uint64_t>(units >> 32) & kLow32,
          static_cast<std::uint64_t>(units >> 64) & kLow32, static_cast<std::uint64_t>(units >> 96)};
}

// Rebuilds the sum over the ranks, plus `tokens` values of exactly 1 that the limbs do not hold (tokens < 2^63).
constexpr FixedSum from_limbs(Limbs summed, std::uint64_t tokens = 0) noexcept {
  constexpr std::uint64_t kLow32 = 0xffffffffU;
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
