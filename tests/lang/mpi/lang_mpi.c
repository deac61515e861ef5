/* SPDX-License-Identifier: Apache-2.0 */
#include "lang_mpi.h"

#include <mpi.h>
#include <stddef.h>

static MPI_Comm split = MPI_COMM_NULL;

int32_t lang_mpi_start(int32_t plain) {
  int level;
  return plain != 0 ? MPI_Init(NULL, NULL) : MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
}

int32_t lang_mpi_rank(void) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int32_t lang_mpi_size(void) {
  int size;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

const void *lang_mpi_split(int32_t ranks) {
  const int rank = lang_mpi_rank();
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &split);
  return split != MPI_COMM_NULL ? &split : NULL;
}

int32_t lang_mpi_split_fortran(void) { return MPI_Comm_c2f(split); }

void lang_mpi_free_split(void) {
  if (split != MPI_COMM_NULL) MPI_Comm_free(&split);
}

void lang_mpi_sum(double *values, int32_t count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void lang_mpi_stop(void) { MPI_Finalize(); }
