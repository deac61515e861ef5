// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "contract/rank_run.hpp"

namespace contract {

// One line for each field that is not what the case says; empty: the rank passes.
std::vector<std::string> compare(const Case& the_case, Mode mode, int rank, const RankRecord& record);

}  // namespace contract
