// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/team.hpp"

namespace contract {

struct GradientReport {
  int checked = 0;
  int failed = 0;
  double worst_double = 0;           // relative difference from one process: losses and gradients in double
  double worst_fused = 0;            // of the fused cross entropy, whose logits and gradients are float
  double least_local_means = 1e300;  // how wrong the mean of local means is where it should be wrong
};

// Every trainer and way with team.ranks() ranks against one process; prints what differs on rank 0. Not all shapes: two
// accumulation steps of two microbatches alone, where steps take long.
GradientReport check_gradients(Team& team, bool all_shapes = true);
// Prints and returns the exit status.
int end_of_gradients(int ranks, const GradientReport& report);

}  // namespace contract
