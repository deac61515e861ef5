/* SPDX-License-Identifier: Apache-2.0 */
/* The little of MPI that the drivers need, for languages that would otherwise have to know how each MPI spells its
 * handles. */
#ifndef TOKAVG_TESTS_LANG_MPI_H
#define TOKAVG_TESTS_LANG_MPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MPI_Init_thread(MPI_THREAD_MULTIPLE); plain is not 0: MPI_Init. */
int32_t lang_mpi_start(int32_t plain);
int32_t lang_mpi_rank(void);
int32_t lang_mpi_size(void);
/* Collective over the world: the address of a communicator (MPI_Comm *) of its first `ranks` ranks; NULL on the others.
 */
const void *lang_mpi_split(int32_t ranks);
/* The same communicator as Fortran names it. */
int32_t lang_mpi_split_fortran(void);
/* Frees what lang_mpi_split made, if it made something here. */
void lang_mpi_free_split(void);
/* Sums `count` doubles over the ranks of the world, in place. */
void lang_mpi_sum(double *values, int32_t count);
void lang_mpi_stop(void);

#ifdef __cplusplus
}
#endif

#endif
