// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/message_words.hpp"

// How ranks that can do nothing but add 64-bit words find out that they agree, and if not, which one differs.
//
// Every rank adds h, h * (rank + 1) and h * (rank + 1)^2, where h is a hash of what must agree. If all agree the sums
// are known. If one rank has h + d instead, the three sums are off by d, d * (rank + 1) and d * (rank + 1)^2, which
// names it on all ranks but itself. Ranks that failed add 0 to these and 1, rank + 1, (rank + 1)^2 to three others.
namespace tokavg {

// A sum that counts ranks. What no ranks of this version could have sent must not come out as a number that they could.
constexpr std::int32_t rank_count(std::uint64_t word) noexcept {
  return static_cast<std::int32_t>(std::min<std::uint64_t>(word, INT32_MAX));
}

struct Failures {
  std::int32_t count = 0;
  std::int32_t first = -1;  // the rank when it is one, else -1
};

Failures read_failures(std::span<const std::uint64_t, kRollWords> words) noexcept;

// Empty when the sums say that all ranks that did not fail have `value`; else who differs: "rank 3", or "this rank or
// several" where that cannot be told.
std::optional<std::string> find_deviation(std::span<const std::uint64_t, kRollWords> words,
                                          std::span<const std::uint64_t, kRollWords> failed, std::uint64_t value,
                                          std::int32_t ranks);

// For a rank that does not know the value: do the others agree among themselves?
bool others_agree(std::span<const std::uint64_t, kRollWords> words, std::span<const std::uint64_t, kRollWords> failed,
                  std::int32_t ranks) noexcept;

}  // namespace tokavg
