// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/yardsticks.hpp"

namespace tokavg_bench {

// Compares a few results of the library and of the yardsticks with plain loops. Ends the program where they differ: the
// time of a wrong answer is worth nothing.
void check_results(const Yardsticks& yardsticks);

}  // namespace tokavg_bench
