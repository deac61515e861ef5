// SPDX-License-Identifier: Apache-2.0
// mpi_runner bridge|nccl FILE: the contract cases on MPI with all data on GPUs; the sums go over MPI, or over a
// communicator of NCCL that MPI helps to make.
#include <cstdio>
#include <cstring>

#include "contract/mpi_cases.hpp"
#include "contract/mpi_team.hpp"
#include "cuda/cuda_memory.hpp"

using namespace contract;

int main(int argc, char** argv) {
  if (argc != 3 || (std::strcmp(argv[1], "bridge") != 0 && std::strcmp(argv[1], "nccl") != 0)) {
    std::fprintf(stderr, "usage: %s bridge|nccl FILE\n", argv[0]);
    return 2;
  }
  const bool nccl = std::strcmp(argv[1], "nccl") == 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const int result = run_mpi_cases(nccl ? "NCCL over MPI, on CUDA" : "MPI, on CUDA", argv[2],
                                   nccl ? TOKAVG_TRANSPORT_NCCL : TOKAVG_TRANSPORT_AUTO, cuda_memory);
  MPI_Finalize();
  return result;
}
