// SPDX-License-Identifier: Apache-2.0
// failures_mpi FOLDER SCENARIO VICTIM multiple|plain: the scenario on MPI_COMM_WORLD.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "contract/mpi_team.hpp"
#include "failures/mpi_scenarios.hpp"
#include "failures/play.hpp"

int main(int argc, char** argv) {
  const failures::Scenario of_mpi = argc == 5 ? failures::find_mpi_scenario(argv[2]) : nullptr;
  if (argc != 5 || (of_mpi == nullptr && failures::find_scenario(argv[2]) == nullptr)) {
    std::fprintf(stderr, "usage: %s FOLDER SCENARIO VICTIM multiple|plain\n", argv[0]);
    return 2;
  }
  int level = MPI_THREAD_SINGLE;
  if (std::strcmp(argv[4], "plain") == 0) {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  }
  failures::Options options;
  options.folder = argv[1];
  options.scenario = argv[2];
  options.victim = std::atoi(argv[3]);
  contract::MpiTeam team(MPI_COMM_WORLD);
  failures::Play play(options, team);
  (of_mpi != nullptr ? of_mpi : failures::find_scenario(argv[2]))(play);
  play.write_result();
  // MPI_Finalize would wait for a rank that is missing, and a launcher ends the others when the first one leaves.
  play.others_are_done(options.scenario == "reduce_killed", 20000);
  _exit(0);
}
