// SPDX-License-Identifier: Apache-2.0
// contexts CONTEXTS: under mpiexec. Communicators are counted too: what the plugin duplicates and frees comes by here.
#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "contract/mpi_team.hpp"
#include "life/contexts.hpp"

namespace {

std::atomic<int> duplicated{0};
std::atomic<int> freed{0};

// One that is left by tokavg_free is freed by the next tokavg_init.
constexpr int kMostAlive = 4;

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* duplicate, MPI_Request* request) {
  ++duplicated;
  return PMPI_Comm_idup(comm, duplicate, request);
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* duplicate) {
  ++duplicated;
  return PMPI_Comm_dup(comm, duplicate);
}

int MPI_Comm_free(MPI_Comm* comm) {
  ++freed;
  return PMPI_Comm_free(comm);
}

}  // extern "C"
#pragma GCC visibility pop

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int contexts = std::atoi(argv[1]);
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  bool fine = true;
  {
    contract::MpiTeam team(MPI_COMM_WORLD);
    fine = life::live_and_die(team, contexts, life::Ranks::kProcesses);
    const int alive = duplicated - freed;
    if (duplicated < contexts / 2 || alive > kMostAlive) {
      std::fprintf(stderr, "rank %d: %d communicators were made, %d are alive\n", team.rank(), duplicated.load(),
                   alive);
      fine = false;
    }
  }
  if (!fine) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
