/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

struct attempt {
  struct attempt *next;
  MPI_Comm duplicate;
  MPI_Request request;
};

static _Atomic(struct attempt *) abandoned;

/*
 * A request of a collective operation can be neither cancelled nor freed (MPI 3.1, 5.12), and MPI writes the
 * communicator when the missing ranks come at last: the attempt stays for as long as the process does.
 */
static void abandon(struct attempt *attempt) {
  attempt->next = atomic_load(&abandoned);
  while (!atomic_compare_exchange_weak(&abandoned, &attempt->next, attempt)) {
  }
}

/*
 * Before MPI_Finalize: Open MPI 4.1 crashes in it when a duplicate is half made. Where all ranks have come after all, a
 * few calls complete it; where one never came it stays untouched, which was not seen to do harm.
 */
void duplicate_settle(void) {
  static const int64_t limit_ns = 200000000;
  int64_t limit = now_ns() + limit_ns;
  bool pending = true;
  while (pending && now_ns() < limit) {
    pending = false;
    for (struct attempt *attempt = atomic_load(&abandoned); attempt != NULL; attempt = attempt->next) {
      int complete = 1;
      if (attempt->request != MPI_REQUEST_NULL) {
        MPI_Test(&attempt->request, &complete, MPI_STATUS_IGNORE);
      }
      pending = pending || !complete;
    }
    nap_ns(100000);
  }
}

static bool complete_within(struct attempt *attempt, int64_t timeout_ms, int *error_out) {
  int64_t limit = now_ns() + timeout_ms * 1000000;
  for (int turn = 0;; turn++) {
    int complete = 0;
    *error_out = MPI_Test(&attempt->request, &complete, MPI_STATUS_IGNORE);
    if (complete || *error_out != MPI_SUCCESS) {
      return true;
    }
    if (now_ns() > limit) {
      return false;
    }
    if (turn < 1000) {
      sched_yield();
    } else {
      nap_ns(100000);
    }
  }
}

static tokavg_status_t say_mpi_error(int error, char *text_out, size_t capacity) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(error, text, &length);
  snprintf(text_out, capacity, "MPI could not duplicate the communicator: %s", text);
  return TOKAVG_ERR_TRANSPORT;
}

/* MPI_Comm_dup would wait for ever for a rank that does not come; MPI_Comm_idup lets the deadline decide. */
tokavg_status_t duplicate_within(MPI_Comm comm, int64_t timeout_ms, MPI_Comm *duplicate_out, char *text_out,
                                 size_t capacity) {
  struct attempt *attempt = calloc(1, sizeof *attempt);
  if (attempt == NULL) {
    snprintf(text_out, capacity, "no memory to duplicate the communicator");
    return TOKAVG_ERR_MEMORY;
  }
  int error = MPI_Comm_idup(comm, &attempt->duplicate, &attempt->request);
  if (error == MPI_SUCCESS && !complete_within(attempt, timeout_ms, &error)) {
    abandon(attempt);
    snprintf(text_out, capacity,
             "not all ranks of the communicator came to tokavg_init within %lld ms; which ones are missing cannot be "
             "known before the communicator is duplicated",
             (long long)timeout_ms);
    return TOKAVG_ERR_TIMEOUT;
  }
  *duplicate_out = attempt->duplicate;
  free(attempt);
  return error == MPI_SUCCESS ? TOKAVG_OK : say_mpi_error(error, text_out, capacity);
}
