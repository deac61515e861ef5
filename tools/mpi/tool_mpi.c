/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "tool_mpi.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static MPI_Comm everyone = MPI_COMM_NULL;
static MPI_Request pending = MPI_REQUEST_NULL;

static int init(void) {
  int provided = 0;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
  if (code == MPI_SUCCESS) code = MPI_Comm_dup(MPI_COMM_WORLD, &everyone);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(everyone, MPI_ERRORS_RETURN);
  return code;
}

static int finalize(void) {
  const int code = MPI_Comm_free(&everyone);
  return code == MPI_SUCCESS ? MPI_Finalize() : code;
}

static void abort_all(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

static int rank(void) {
  int value = 0;
  MPI_Comm_rank(everyone, &value);
  return value;
}

static int ranks(void) {
  int value = 1;
  MPI_Comm_size(everyone, &value);
  return value;
}

static const void *communicator(void) { return &everyone; }

static int barrier(void) { return MPI_Barrier(everyone); }

static int sleeping_barrier(void) {
  const struct timespec nap = {0, 2000000};
  MPI_Request request = MPI_REQUEST_NULL;
  int done = 0;
  int code = MPI_Ibarrier(everyone, &request);
  while (code == MPI_SUCCESS && !done) {
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) nanosleep(&nap, NULL);
  }
  return code;
}

/* MPI counts are int; nothing here comes near that, but a wrapped count would be silently wrong. */
static int fits(int64_t count) { return count >= 0 && count <= INT_MAX; }

static int reduce(void *values, int64_t count, MPI_Datatype type, MPI_Op op) {
  if (!fits(count)) return MPI_ERR_COUNT;
  return MPI_Allreduce(MPI_IN_PLACE, values, (int)count, type, op, everyone);
}

static int sum(double *values, int64_t count) { return reduce(values, count, MPI_DOUBLE, MPI_SUM); }

static int max(double *values, int64_t count) { return reduce(values, count, MPI_DOUBLE, MPI_MAX); }

static int sum_counts(int64_t *values, int64_t count) { return reduce(values, count, MPI_INT64_T, MPI_SUM); }

static int gather(const double *mine, int64_t count, double *all) {
  if (!fits(count)) return MPI_ERR_COUNT;
  return MPI_Allgather(mine, (int)count, MPI_DOUBLE, all, (int)count, MPI_DOUBLE, everyone);
}

static int start_sum_counts(const int64_t *mine, int64_t *sums, int64_t count) {
  if (!fits(count)) return MPI_ERR_COUNT;
  return MPI_Iallreduce(mine, sums, (int)count, MPI_INT64_T, MPI_SUM, everyone, &pending);
}

static int wait_pending(void) { return MPI_Wait(&pending, MPI_STATUS_IGNORE); }

static void describe(int code, char *text, int32_t capacity) {
  char own[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, own, &length) != MPI_SUCCESS) own[0] = '\0';
  snprintf(text, (size_t)capacity, "%s", own);
}

__attribute__((visibility("default"))) extern const tokavg_tool_mpi_t tokavg_tool_mpi;
const tokavg_tool_mpi_t tokavg_tool_mpi = {
    .version = TOKAVG_TOOL_MPI_VERSION,
    .init = init,
    .finalize = finalize,
    .abort = abort_all,
    .rank = rank,
    .ranks = ranks,
    .communicator = communicator,
    .barrier = barrier,
    .sleeping_barrier = sleeping_barrier,
    .sum = sum,
    .max = max,
    .sum_counts = sum_counts,
    .gather = gather,
    .start_sum_counts = start_sum_counts,
    .wait = wait_pending,
    .describe = describe,
};
