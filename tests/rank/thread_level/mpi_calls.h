/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls MPI: the calls that sums are made of, told apart by thread, by way of MPI's profiling interface. */
#ifndef TOKAVG_TESTS_THREAD_LEVEL_MPI_CALLS_H
#define TOKAVG_TESTS_THREAD_LEVEL_MPI_CALLS_H

struct mpi_calls {
  long own;      /* by the thread that the last reset named */
  long others;   /* by any other thread */
  long overlaps; /* while another thread was inside MPI */
};

/* From here on the calling thread is the one whose calls are its own. */
void mpi_calls_reset(void);
struct mpi_calls mpi_calls_seen(void);

#endif
