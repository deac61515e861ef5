// SPDX-License-Identifier: Apache-2.0
// mpi_runner bridge|nccl FILE: the contract cases on MPI with all data on GPUs, gradients against one process, captured
// steps, and the order of streams; the sums go over MPI, or over a communicator of NCCL that MPI helps to make.
#include <cstdio>
#include <cstring>

#include "contract/gradient_checks.hpp"
#include "contract/mpi_cases.hpp"
#include "contract/mpi_team.hpp"
#include "cuda/cuda_memory.hpp"
#include "cuda/graph_step.hpp"
#include "cuda/stream_cases.hpp"

using namespace contract;

namespace {

// The same on all ranks: how many found something wrong.
int on_all_ranks(bool failed) {
  int faults = failed ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &faults, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return faults;
}

bool gradients_differ(Team& team) {
  const GradientReport report = check_gradients(team, false);
  return (team.rank() == 0 && end_of_gradients(team.ranks(), report) != 0) || report.failed != 0;
}

bool captured_steps_differ(Team& team) {
  cuda_test::Checks checks;
  cuda_test::GraphStep(team, checks, true).run();
  return checks.end("captured steps") != 0;
}

bool streams_differ(Team& team) {
  cuda_test::Checks checks;
  cuda_test::check_streams(team, checks, true);
  return checks.end("streams") != 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || (std::strcmp(argv[1], "bridge") != 0 && std::strcmp(argv[1], "nccl") != 0)) {
    std::fprintf(stderr, "usage: %s bridge|nccl FILE\n", argv[0]);
    return 2;
  }
  const bool nccl = std::strcmp(argv[1], "nccl") == 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const std::int32_t transport = nccl ? TOKAVG_TRANSPORT_NCCL : TOKAVG_TRANSPORT_AUTO;
  int faults = run_mpi_cases(nccl ? "NCCL over MPI, on CUDA" : "MPI, on CUDA", argv[2], transport, cuda_memory);
  {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MpiTeam team(MPI_COMM_WORLD, cuda_memory(rank), transport);
    faults += on_all_ranks(gradients_differ(team));
    faults += on_all_ranks(captured_steps_differ(team));
    faults += on_all_ranks(streams_differ(team));
  }
  MPI_Finalize();
  return faults == 0 ? 0 : 1;
}
