// SPDX-License-Identifier: Apache-2.0
// late_peer: a rank that never joins a step. On all others the streams drain within the deadline + 0.1 s, the factor is
// NaN, so the gradients are, and the status names the step. Also a rank that aborts, and one that fails locally. Ranks
// as threads.
#include "cuda/cuda_memory.hpp"
#include "cuda/late_rank.hpp"
#include "cuda/nccl_team.hpp"

using namespace cuda_test;

int main() {
  Checks checks;
  for (const Trouble trouble : kTroubles) {
    for (const int ranks : {2, 4}) {
      const auto body = [&](bool knows_who) {
        return [&, knows_who](contract::Team& team) { LateRank(team, checks, knows_who).run(trouble); };
      };
      contract::run_on_threads(ranks, body(true), contract::cuda_memory);
      // An aborted communicator of the caller's cannot be destroyed any more, so each rank has one of the library's.
      if (ranks <= contract::nccl_devices()) {
        contract::run_on_threads(ranks, body(false), contract::nccl_over_threads_memory);
      }
    }
  }
  return checks.end("late_peer");
}
