// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/options.hpp"
#include "common/context.hpp"
#include "common/mpi.hpp"
#include "common/progress.hpp"

namespace tokavg_tool::bench {

/// What starting a reduction costs the caller, in microseconds: medians, of the worst rank.
struct CallCosts {
  double count_add_reduce_us = 0.0;
  double iallreduce_start_us = 0.0;
};

/// Times both calls in turn; each reduction is completed outside the measured time.
CallCosts time_calls(const Options& options, const Mpi& mpi, const Context& context, Progress& progress);

}  // namespace tokavg_tool::bench
