// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tokavg {

// "rank 3" or "ranks 1, 3"; sixteen are named and the others counted.
std::string name_ranks(const std::vector<std::int32_t>& ranks);

}  // namespace tokavg
