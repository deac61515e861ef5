// SPDX-License-Identifier: Apache-2.0
// failures_mpi FOLDER SCENARIO VICTIM DEADLINE_MS multiple|plain: the scenario on MPI_COMM_WORLD.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "contract/mpi_team.hpp"
#include "failures/backend.hpp"
#include "failures/mpi_scenarios.hpp"
#include "failures/play.hpp"

namespace {

failures::Options options;
int rank = 0;

// Registered before MPI and the library could register anything: it runs when all that is through.
void note_exit() { std::ofstream(options.folder + "/" + std::to_string(rank) + ".left"); }

bool goes_without_result(const std::string& scenario) {
  return scenario == "reduce_killed" || scenario.starts_with("killed.") || scenario.starts_with("left.");
}

}  // namespace

int main(int argc, char** argv) {
  const failures::Scenario of_mpi = argc == 6 ? failures::find_mpi_scenario(argv[2]) : nullptr;
  if (argc != 6 || (of_mpi == nullptr && failures::find_scenario(argv[2]) == nullptr)) {
    std::fprintf(stderr, "usage: %s FOLDER SCENARIO VICTIM DEADLINE_MS multiple|plain\n", argv[0]);
    return 2;
  }
  const failures::Backend backend = failures::backend();
  options.folder = argv[1];
  options.scenario = argv[2];
  options.victim = std::atoi(argv[3]);
  options.deadline_ms = std::atoi(argv[4]);
  options.names_ranks = backend.names_ranks;
  std::atexit(note_exit);
  int level = MPI_THREAD_SINGLE;
  if (std::strcmp(argv[5], "plain") == 0) {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  contract::MpiTeam team(MPI_COMM_WORLD, backend.make_memory(rank), backend.transport);
  failures::Play play(options, team);
  play.announce();
  (of_mpi != nullptr ? of_mpi : failures::find_scenario(argv[2]))(play);
  play.write_result();
  // MPI_Finalize would wait for a rank that is missing, and a launcher ends the others when the first one leaves.
  play.others_are_done(goes_without_result(options.scenario), 20000);
  _exit(0);
}
