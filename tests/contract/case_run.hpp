// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "contract/team.hpp"

namespace contract {

// Calls body for every rank of a team of so many.
using RunEverywhere = std::function<void(int ranks, const Body& body)>;

// Every case of the file (or those named) in this process, in both modes; those of more than most_ranks ranks are not
// run unless each rank has a context of its own. Prints, and returns the exit status.
int run_cases(const std::string& name, const std::string& file, const std::vector<std::string>& wanted, int most_ranks,
              const RunEverywhere& run_everywhere);

}  // namespace contract
