// SPDX-License-Identifier: Apache-2.0
#include "core/rollcall.hpp"

#include <array>

#include "base/error.hpp"

namespace tokavg {

Failures read_failures(std::span<const std::uint64_t, kRollWords> words) noexcept {
  Failures failures;
  failures.count = rank_count(words[0]);
  if (failures.count == 1 && words[1] != 0) failures.first = rank_count(words[1] - 1);
  return failures;
}

bool others_agree(std::span<const std::uint64_t, kRollWords> words, std::span<const std::uint64_t, kRollWords> failed,
                  std::int32_t ranks) noexcept {
  const auto places = sums_of_places(failed.data(), ranks);
  return words[1] * places[0] == words[0] * places[1] && words[2] * places[0] == words[0] * places[2];
}

std::optional<std::string> find_deviation(std::span<const std::uint64_t, kRollWords> words,
                                          std::span<const std::uint64_t, kRollWords> failed, std::uint64_t value,
                                          std::int32_t ranks) {
  const auto places = sums_of_places(failed.data(), ranks);
  const std::uint64_t off0 = words[0] - places[0] * value;
  const std::uint64_t off1 = words[1] - places[1] * value;
  const std::uint64_t off2 = words[2] - places[2] * value;
  if (off0 == 0 && off1 == 0 && off2 == 0) return std::nullopt;
  // Where only two are left each would name the other.
  if (places[0] <= 2) return "the two ranks differ";
  std::int32_t found = -1;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto place = static_cast<std::uint64_t>(rank) + 1;
    if (off0 != 0 && off1 == off0 * place && off2 == off1 * place) {
      if (found >= 0) return "this rank or several differ";
      found = rank;
    }
  }
  if (found < 0) return "this rank or several differ";
  return format("rank %d differs", found);
}

}  // namespace tokavg
