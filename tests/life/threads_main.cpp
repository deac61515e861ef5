// SPDX-License-Identifier: Apache-2.0
// contexts RANKS CONTEXTS: alone (1), or threads of this process.
#include <atomic>
#include <cstdlib>

#include "life/contexts.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int ranks = std::atoi(argv[1]);
  const int contexts = std::atoi(argv[2]);
  std::atomic<int> failed{0};
  const contract::Body body = [&](contract::Team& team) {
    failed += life::live_and_die(team, contexts, life::Ranks::kThreads) ? 0 : 1;
  };
  if (ranks == 1) {
    contract::run_on_self(1, body);
  } else {
    contract::run_on_threads(ranks, body);
  }
  return failed == 0 ? 0 : 1;
}
