// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/team.hpp"
#include "cuda/checks.hpp"

namespace cuda_test {

// What is enqueued is what the host would have computed, in the order of the calls, whatever their streams; all ranks
// do the same. alone: no other rank is in this process; then also that no call of a step waits.
void check_streams(contract::Team& team, Checks& checks, bool alone);

}  // namespace cuda_test
