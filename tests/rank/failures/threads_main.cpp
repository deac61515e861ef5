// SPDX-License-Identifier: Apache-2.0
// failures_threads FOLDER SCENARIO VICTIM RANKS: the scenario with ranks that are threads.
#include <cstdio>
#include <cstdlib>

#include "failures/play.hpp"

int main(int argc, char** argv) {
  if (argc != 5 || failures::find_scenario(argv[2]) == nullptr) {
    std::fprintf(stderr, "usage: %s FOLDER SCENARIO VICTIM RANKS\n", argv[0]);
    return 2;
  }
  failures::Options options;
  options.folder = argv[1];
  options.scenario = argv[2];
  options.victim = std::atoi(argv[3]);
  contract::run_on_threads(std::atoi(argv[4]), [&](contract::Team& team) { failures::play(options, team); });
  return 0;
}
