// SPDX-License-Identifier: Apache-2.0
// failures_threads FOLDER SCENARIO VICTIM DEADLINE_MS RANKS: the scenario with ranks that are threads.
#include <cstdio>
#include <cstdlib>

#include "failures/backend.hpp"
#include "failures/play.hpp"

int main(int argc, char** argv) {
  if (argc != 6 || failures::find_scenario(argv[2]) == nullptr) {
    std::fprintf(stderr, "usage: %s FOLDER SCENARIO VICTIM DEADLINE_MS RANKS\n", argv[0]);
    return 2;
  }
  const failures::Backend backend = failures::backend();
  failures::Options options;
  options.folder = argv[1];
  options.scenario = argv[2];
  options.victim = std::atoi(argv[3]);
  options.deadline_ms = std::atoi(argv[4]);
  options.names_ranks = backend.names_ranks;
  const contract::Body body = [&](contract::Team& team) { failures::play(options, team); };
  contract::run_on_threads(std::atoi(argv[5]), body, backend.make_memory);
  return 0;
}
