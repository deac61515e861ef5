// SPDX-License-Identifier: Apache-2.0
// mpi_runner multiple|plain FILE: the contract cases on MPI. `plain` calls MPI_Init: no thread may help.
#include <cstdio>
#include <cstring>

#include "contract/mpi_cases.hpp"
#include "contract/mpi_team.hpp"

using namespace contract;

int main(int argc, char** argv) {
  if (argc != 3 || (std::strcmp(argv[1], "plain") != 0 && std::strcmp(argv[1], "multiple") != 0)) {
    std::fprintf(stderr, "usage: %s multiple|plain FILE\n", argv[0]);
    return 2;
  }
  int level = MPI_THREAD_SINGLE;
  if (std::strcmp(argv[1], "plain") == 0) {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  }
  const int result = run_mpi_cases(level == MPI_THREAD_MULTIPLE ? "MPI" : "MPI, polled", argv[2]);
  MPI_Finalize();
  return result;
}
