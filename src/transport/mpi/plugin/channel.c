/* SPDX-License-Identifier: Apache-2.0 */
#include "channel.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void place_in_hypercube(struct channel *channel) {
  channel->power = 1;
  while (2 * channel->power <= channel->ranks) {
    channel->power *= 2;
    channel->rounds++;
  }
  channel->folded = channel->ranks - channel->power;
  if (channel->rank >= 2 * channel->folded) {
    channel->position = channel->rank - channel->folded;
  } else {
    channel->position = channel->rank % 2 == 1 ? channel->rank / 2 : -1;
  }
}

struct channel *channel_new(MPI_Comm comm, bool threaded, int64_t max_words) {
  struct channel *channel = calloc(1, sizeof *channel);
  if (channel == NULL) {
    return NULL;
  }
  channel->pid = getpid();
  channel->comm = comm;
  channel->threaded = threaded;
  channel->max_words = max_words;
  MPI_Comm_rank(comm, &channel->rank);
  MPI_Comm_size(comm, &channel->ranks);
  place_in_hypercube(channel);
  for (int i = 0; i < MAX_SUMS; i++) {
    channel->sums[i].requests[0] = channel->sums[i].requests[1] = MPI_REQUEST_NULL;
  }
  channel->control.request = MPI_REQUEST_NULL;
  atomic_store(&channel->control.polled_ns, now_ns());
  return channel;
}

tokavg_status_t channel_usable(const struct channel *channel) {
  if (channel->pid != getpid()) {
    return TOKAVG_ERR_STATE;
  }
  return atomic_load_explicit(&channel->status, memory_order_acquire);
}

static void finish(struct channel *channel, struct sum *sum, int state) {
  if (channel->threaded) {
    atomic_fetch_sub(&process.unfinished, 1);
  }
  atomic_store_explicit(&sum->state, state, memory_order_release);
}

static bool is_unfinished(struct sum *sum) {
  int state = atomic_load_explicit(&sum->state, memory_order_acquire);
  return state == SUM_READY || state == SUM_RUNNING;
}

/*
 * No MPI call in here: a close that may not block uses it too. A channel that loses a sum has failed: messages of it
 * may still arrive, and a new communicator that were given the number of this one would take them for its own.
 */
void channel_drop_sums(struct channel *channel) {
  for (int i = 0; i < MAX_SUMS; i++) {
    if (is_unfinished(&channel->sums[i])) {
      finish(channel, &channel->sums[i], SUM_FAILED);
      int healthy = TOKAVG_OK;
      atomic_compare_exchange_strong(&channel->status, &healthy, TOKAVG_ERR_TRANSPORT);
    }
  }
}

/*
 * A cancelled receive completes locally (MPI 3.1, 3.8.4) unless its message is already arriving, and a send to a
 * stopped rank may stay open for ever. Requests that are still open are detached, and the buffers outlive them.
 */
void channel_give_up_requests(struct channel *channel) {
  if (channel->detached) {
    return;
  }
  for (int i = 0; i < MAX_SUMS; i++) {
    MPI_Request *requests = channel->sums[i].requests;
    if (requests[0] != MPI_REQUEST_NULL) {
      MPI_Cancel(&requests[0]);
    }
    for (int side = 0; side < 2; side++) {
      int complete = 1;
      if (requests[side] != MPI_REQUEST_NULL) {
        MPI_Test(&requests[side], &complete, MPI_STATUS_IGNORE);
      }
      if (!complete) {
        MPI_Request_free(&requests[side]);
        channel->keep = true;
      }
    }
  }
}

void channel_fail(struct channel *channel, tokavg_status_t status, const char *format, ...) {
  if (atomic_load(&channel->status) != TOKAVG_OK) {
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(channel->reason, sizeof channel->reason, format, arguments);
  va_end(arguments);
  atomic_store_explicit(&channel->status, status, memory_order_release);
  channel_drop_sums(channel);
  channel_give_up_requests(channel);
}

void channel_fail_mpi(struct channel *channel, const char *what, int error) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(error, text, &length);
  channel_fail(channel, TOKAVG_ERR_TRANSPORT, "%s: %.300s", what, text);
}

static int begin(struct channel *channel, struct sum *sum) {
  int error = hypercube_begin(channel, sum);
  atomic_store_explicit(&sum->state, SUM_RUNNING, memory_order_relaxed);
  return error;
}

void channel_begin_sums(struct channel *channel) {
  int n_used = atomic_load_explicit(&channel->n_used, memory_order_acquire);
  for (int i = 0; i < n_used && atomic_load(&channel->status) == TOKAVG_OK; i++) {
    struct sum *sum = &channel->sums[i];
    if (atomic_load_explicit(&sum->state, memory_order_acquire) == SUM_READY) {
      int error = begin(channel, sum);
      if (error != MPI_SUCCESS) {
        channel_fail_mpi(channel, "MPI failed to begin a sum", error);
      } else if (channel->ranks == 1) {
        finish(channel, sum, SUM_DONE);
      }
    }
  }
}

/* Returns whether anything moved. A sum that fails takes the channel with it. */
bool channel_advance_sums(struct channel *channel) {
  bool moved = false;
  int n_used = atomic_load_explicit(&channel->n_used, memory_order_acquire);
  for (int i = 0; i < n_used && atomic_load(&channel->status) == TOKAVG_OK; i++) {
    struct sum *sum = &channel->sums[i];
    int state = atomic_load_explicit(&sum->state, memory_order_acquire);
    int error = MPI_SUCCESS;
    bool done = false;
    if (state == SUM_READY) {
      error = begin(channel, sum);
      state = SUM_RUNNING;
    }
    if (state == SUM_RUNNING && error == MPI_SUCCESS) {
      error = hypercube_advance(channel, sum, &moved, &done);
    }
    if (error != MPI_SUCCESS) {
      channel_fail_mpi(channel, "MPI failed in a sum", error);
    } else if (done) {
      finish(channel, sum, SUM_DONE);
    }
  }
  return moved;
}

bool channel_advance(struct channel *channel) {
  if (channel->detached || atomic_load(&channel->status) != TOKAVG_OK) {
    return false;
  }
  bool moved = control_poll(channel);
  /* Once a deadline has passed somewhere the channel fails. A sum that completed here now, with words that lay waiting
   * for a rank that was stopped, would be a success on this rank alone. */
  if (!channel->culprits.collecting) {
    moved |= channel_advance_sums(channel);
  }
  culprits_tick(channel);
  return moved;
}

void channel_dispose(struct channel *channel) {
  if (channel->keep) {
    process_bury(channel);
    return;
  }
  for (int i = 0; i < MAX_SUMS; i++) {
    free(channel->sums[i].total);
  }
  control_free_letters(channel);
  free(channel->culprits.reports);
  free(channel->culprits.fresh);
  free(channel->culprits.late);
  free(channel);
}
