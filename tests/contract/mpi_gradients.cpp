// SPDX-License-Identifier: Apache-2.0
// mpi_gradients: the ranks of MPI_COMM_WORLD against one process.
#include "contract/gradient_checks.hpp"
#include "contract/mpi_team.hpp"

using namespace contract;

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  int status = 0;
  {
    MpiTeam team(comm);
    const GradientReport report = check_gradients(team);
    status = team.rank() == 0 ? end_of_gradients(team.ranks(), report) : static_cast<int>(report.failed != 0);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return status;
}
