// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace tokavg {

__extension__ using Int128 = __int128;

// Sums of weights and losses that do not depend on the order of their parts: a 128-bit integer times 2^-72.
//
// Each value is rounded once (half to even) to a multiple of 2^-72; from then on everything is integer addition.
// Exact for every float32 with |x| >= 2^-49 and every double with |x| >= 2^-20; otherwise off by at most 2^-73.
inline constexpr int kFractionBits = 72;
inline constexpr double kTokenLimit = 0x1p22;  // |x| of one token must be below
inline constexpr double kSumLimit = 0x1p54;    // |x| of a value that is already a sum may reach it

class FixedSum {
 public:
  // Adds a finite x, |x| <= kSumLimit. The rounding mode of the caller has no say.
  void add(double x) noexcept { add_units(to_units(x)); }
  // Adds whole units of 2^-72.
  void add_units(Int128 units) noexcept;
  void add(const FixedSum& other) noexcept;
  void mark_too_large() noexcept { marked_ = true; }

  // Whether |sum| >= 2^127: that depends on the sum alone, not on what it passed through on the way, for the order of
  // the parts must not show. units() and value() mean nothing then.
  [[nodiscard]] bool too_large() const noexcept;
  [[nodiscard]] Int128 units() const noexcept { return units_; }
  [[nodiscard]] double value() const noexcept;  // correctly rounded
  [[nodiscard]] bool operator==(const FixedSum&) const noexcept = default;

  // x * 2^72, rounded half to even.
  static Int128 to_units(double x) noexcept;

 private:
  Int128 units_ = 0;        // the sum modulo 2^128
  std::int64_t wraps_ = 0;  // and how many times 2^128 must be added to it
  bool marked_ = false;     // found to be too large elsewhere
};

// The same sum cut for a message: four limbs of radix 2^32 (0 to 2 in [0, 2^32), 3 signed, two's complement), so that
// plain 64-bit addition over up to 2^31 ranks cannot carry from one limb into the next.
using Limbs = std::array<std::uint64_t, 4>;

Limbs to_limbs(const FixedSum& sum) noexcept;  // zeros when the sum is too large: that travels in a word of its own

// Rebuilds the sum over the ranks, plus `tokens` values of exactly 1 that the limbs do not hold (tokens < 2^63).
FixedSum from_limbs(Limbs summed, std::uint64_t tokens = 0) noexcept;

}  // namespace tokavg
