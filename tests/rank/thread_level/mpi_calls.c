/* SPDX-License-Identifier: Apache-2.0 */
/* The program exports these, so that the plugin, which is loaded later, calls them instead of MPI's own. */
#include "mpi_calls.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

static _Atomic(pthread_t) owner;
static atomic_long own;
static atomic_long others;
static atomic_long overlaps;
static atomic_int inside;

void mpi_calls_reset(void) {
  atomic_store(&owner, pthread_self());
  atomic_store(&own, 0);
  atomic_store(&others, 0);
  atomic_store(&overlaps, 0);
}

struct mpi_calls mpi_calls_seen(void) {
  return (struct mpi_calls){atomic_load(&own), atomic_load(&others), atomic_load(&overlaps)};
}

static void enter(void) {
  atomic_fetch_add(pthread_equal(pthread_self(), atomic_load(&owner)) ? &own : &others, 1);
  if (atomic_fetch_add(&inside, 1) > 0) atomic_fetch_add(&overlaps, 1);
}

static int leave(int result) {
  atomic_fetch_sub(&inside, 1);
  return result;
}

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request) {
  enter();
  return leave(PMPI_Isend(data, count, type, to, tag, comm, request));
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request) {
  enter();
  return leave(PMPI_Irecv(data, count, type, from, tag, comm, request));
}

int MPI_Test(MPI_Request *request, int *done, MPI_Status *status) {
  enter();
  return leave(PMPI_Test(request, done, status));
}
