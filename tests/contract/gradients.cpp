// SPDX-License-Identifier: Apache-2.0
// gradients: one to four ranks as threads, and on a caller's table, against one process.
#include <mutex>

#include "contract/gradient_checks.hpp"

using namespace contract;

int main() {
  int status = 0;
  std::mutex mutex;
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const Body body = [&](Team& team) {
      const GradientReport report = check_gradients(team);
      const std::lock_guard lock(mutex);
      if (team.rank() == 0) status |= end_of_gradients(ranks, report);
      if (report.failed != 0) status = 1;
    };
    run_on_threads(ranks, body);
  }
  return status;
}
