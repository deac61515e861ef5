// SPDX-License-Identifier: Apache-2.0
#include "transport/rank_list.hpp"

#include <cstddef>

#include "base/error.hpp"

namespace tokavg {

std::string name_ranks(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kNamed = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kNamed; ++i) {
    text += format("%s%d", i == 0 ? "" : ", ", ranks[i]);
  }
  if (ranks.size() > kNamed) text += format(" and %zu more", ranks.size() - kNamed);
  return text;
}

}  // namespace tokavg
