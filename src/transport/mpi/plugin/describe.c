/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* Read once, so that a description needs no MPI after MPI_Finalize. */
static struct {
  char flavour[32];
  char library[128];
  char standard[16];
  const char *thread_level;
  const char *cuda_aware;
} mpi;

const char *describe_thread_level(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE: return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED: return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED: return "MPI_THREAD_SERIALIZED";
    case MPI_THREAD_MULTIPLE: return "MPI_THREAD_MULTIPLE";
    default: return "an unknown thread level";
  }
}

/* Reported only: device memory is never handed to MPI, whatever it says. */
static const char *cuda_awareness(void) {
#if defined(MPIX_CUDA_AWARE_SUPPORT) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION >= 40000000)
  return MPIX_Query_cuda_support() ? "true" : "false";
#else
  return "null";
#endif
}

/* Keeps the first line, up to a comma, in characters that JSON takes as they are. */
static void tidy(char *text) {
  text[strcspn(text, "\r\n,")] = '\0';
  for (char *at = text; *at != '\0'; at++) {
    if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\') {
      *at = ' ';
    }
  }
}

void describe_read_mpi(void) {
  char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  int version = 0;
  int subversion = 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Get_library_version(library, &length);
  MPI_Get_version(&version, &subversion);
  MPI_Query_thread(&level);
  tidy(library);
  snprintf(mpi.library, sizeof mpi.library, "%.120s", library);
  snprintf(mpi.standard, sizeof mpi.standard, "%d.%d", version, subversion);
#if defined(OPEN_MPI)
  snprintf(mpi.flavour, sizeof mpi.flavour, "Open MPI");
#elif defined(MPICH_VERSION)
  snprintf(mpi.flavour, sizeof mpi.flavour, "MPICH");
#else
  snprintf(mpi.flavour, sizeof mpi.flavour, "MPI");
#endif
  mpi.thread_level = describe_thread_level(level);
  mpi.cuda_aware = cuda_awareness();
}

static void describe_transport(struct channel *channel, char *text_out, size_t capacity) {
  char reason[REASON_BYTES + 2] = "null";
  if (atomic_load_explicit(&channel->status, memory_order_acquire) != TOKAVG_OK) {
    char text[REASON_BYTES];
    snprintf(text, sizeof text, "%s", channel->reason);
    for (char *at = text; *at != '\0'; at++) {
      if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\') {
        *at = ' ';
      }
    }
    snprintf(reason, sizeof reason, "\"%s\"", text);
  }
  snprintf(text_out, capacity,
           "{\"flavour\":\"%s\",\"library\":\"%s\",\"standard\":\"%s\",\"thread_level\":\"%s\","
           "\"progress\":\"%s\",\"cuda_aware\":%s,\"error\":%s}",
           mpi.flavour, mpi.library, mpi.standard, mpi.thread_level, channel->threaded ? "thread" : "caller",
           mpi.cuda_aware, reason);
}

/* The reason of a failure is the same for all sums: the request may be gone. */
static void describe_sum(struct channel *channel, struct sum *sum, char *text_out, size_t capacity) {
  int state = atomic_load_explicit(&sum->state, memory_order_acquire);
  if (atomic_load_explicit(&channel->status, memory_order_acquire) != TOKAVG_OK) {
    snprintf(text_out, capacity, "%s", channel->reason);
  } else if (state == SUM_RUNNING) {
    hypercube_describe(channel, sum, text_out, capacity);
  } else {
    snprintf(text_out, capacity, "%s", state == SUM_READY ? "not yet begun" : "complete");
  }
}

tokavg_status_t table_describe(void *user, void *request, char *text_out, int64_t capacity) {
  struct channel *channel = user;
  if (capacity < 1) {
    return TOKAVG_ERR_ARGUMENT;
  }
  if (channel->pid != getpid()) {
    snprintf(text_out, (size_t)capacity, "this process was forked from the one that the context belongs to");
    return TOKAVG_OK;
  }
  process_lock();
  if (request == NULL) {
    describe_transport(channel, text_out, (size_t)capacity);
  } else {
    describe_sum(channel, request, text_out, (size_t)capacity);
  }
  process_unlock();
  return TOKAVG_OK;
}
