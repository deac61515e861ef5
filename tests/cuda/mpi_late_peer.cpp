// SPDX-License-Identifier: Apache-2.0
// mpi_late_peer bridge|nccl: what late_peer shows, with ranks that are processes and a sum that goes over MPI, or over
// a communicator of NCCL that MPI helps to make.
#include <cstring>

#include "contract/mpi_team.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/late_rank.hpp"

using namespace cuda_test;

int main(int argc, char** argv) {
  if (argc != 2 || (std::strcmp(argv[1], "bridge") != 0 && std::strcmp(argv[1], "nccl") != 0)) {
    std::fprintf(stderr, "usage: %s bridge|nccl\n", argv[0]);
    return 2;
  }
  const bool nccl = std::strcmp(argv[1], "nccl") == 0;
  int level = MPI_THREAD_SINGLE;
  int rank = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Checks checks;
  for (const Trouble trouble : kTroubles) {
    contract::MpiTeam team(MPI_COMM_WORLD, contract::cuda_memory(rank),
                           nccl ? TOKAVG_TRANSPORT_NCCL : TOKAVG_TRANSPORT_AUTO);
    LateRank(team, checks, !nccl).run(trouble);
  }
  int status = checks.end("mpi_late_peer");
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
