// SPDX-License-Identifier: Apache-2.0
// gradients: one, two and four ranks with all data on GPUs against one process, over the bridge and over NCCL.
#include <atomic>
#include <mutex>

#include "contract/gradient_checks.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/nccl_team.hpp"

using namespace contract;

int main() {
  std::atomic<int> status{0};
  std::mutex mutex;
  for (const int ranks : {1, 2, 4}) {
    const Body body = [&](Team& team) {
      const GradientReport report = check_gradients(team, false);
      const std::lock_guard lock(mutex);
      if (team.rank() == 0 && end_of_gradients(ranks, report) != 0) status = 1;
      if (report.failed != 0) status = 1;
    };
    run_on_threads(ranks, body, cuda_memory);
    if (ranks <= nccl_devices()) run_on_nccl(ranks, false, body);
  }
  return status;
}
