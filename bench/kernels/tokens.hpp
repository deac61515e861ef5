// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/groups.hpp"

namespace tokavg_bench {

// tokavg_count() of n 64-bit labels.
void time_count(benchmark::State& state, std::int64_t n);
// tokavg_loss() of n float losses with 64-bit labels.
void time_loss(benchmark::State& state, std::int64_t n);
// A sequential sum of n float losses in double: what everybody would write.
void time_plain_sum(benchmark::State& state, std::int64_t n);

}  // namespace tokavg_bench
