// SPDX-License-Identifier: Apache-2.0
// late_peer: a rank that never joins a step. On all others the streams drain within the deadline + 0.1 s, the factor is
// NaN, so the gradients are, and the status names the step. Also a rank that aborts, and one that fails locally. Ranks
// as threads.
#include <algorithm>
#include <mutex>

#include "cuda/cuda_memory.hpp"
#include "cuda/late_rank.hpp"
#include "cuda/nccl_team.hpp"

using namespace cuda_test;

namespace {

// The longest that a stream took to drain.
double never_joins(int ranks, bool nccl, Checks& checks) {
  std::mutex mutex;
  double longest = 0;
  const auto body = [&](contract::Team& team) {
    LateRank rank(team, checks, !nccl);
    rank.run(Trouble::kNeverJoins);
    const std::lock_guard lock(mutex);
    longest = std::max(longest, rank.drained());
  };
  contract::run_on_threads(ranks, body, nccl ? contract::nccl_over_threads_memory : contract::cuda_memory);
  return longest;
}

// One of three tries, for the machine may be busy with something else.
void drains_in_time(int ranks, bool nccl, Checks& checks) {
  double best = never_joins(ranks, nccl, checks);
  for (int more = 0; more < 2 && best > kDrained; ++more) best = std::min(best, never_joins(ranks, nccl, checks));
  checks.expect(best < kDrained || kSlack > 2, std::to_string(ranks) + " ranks: drained after " + std::to_string(best));
}

}  // namespace

int main() {
  Checks checks;
  for (const int ranks : {2, 4}) {
    drains_in_time(ranks, false, checks);
    if (ranks <= contract::nccl_devices()) drains_in_time(ranks, true, checks);
  }
  for (const Trouble trouble : {Trouble::kAborts, Trouble::kFails}) {
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
