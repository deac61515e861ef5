// SPDX-License-Identifier: Apache-2.0
// For the examples: a failed call, or a number that is not what was worked out by hand, ends the program.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>

inline void check_number(const char* what, double got, double by_hand) {
  std::printf("%s: %.9g (by hand: %.9g)\n", what, got, by_hand);
  if (!(std::fabs(got - by_hand) <= 1e-6 * std::fabs(by_hand))) MPI_Abort(MPI_COMM_WORLD, 1);
}

inline int run_on_mpi(int argc, char** argv, void (*train)(std::size_t rank, std::size_t ranks)) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  try {
    train(static_cast<std::size_t>(rank), static_cast<std::size_t>(ranks));
  } catch (const std::exception& error) {  // the text says what is wrong and what to do
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return MPI_Finalize();
}
