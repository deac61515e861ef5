/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control messages on tag 0: {kind} followed by reports, by the rank that called abort, or by nothing. They go to
 * the neighbours r +- 2^b and r xor 2^b and are passed on once, so that they also reach ranks whose partners in the
 * hypercube are dead. All is best effort: a failing send must not hide the error that is being told.
 */
#include "channel.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_REPORTS = 1, KIND_ABORT = 2, KIND_FAREWELL = 3, MAX_NEIGHBOURS = 3 * 31 };

/*
 * A rank that did not look for so long may have missed the others' 50 ms (culprits.c). When it looks again, what it
 * finds first is old, and one look does not find it all: MPICH's MPI_Test takes one event at a time.
 */
static const int64_t longest_gap_ns = 35000000;
static const int64_t catching_up_ns = 10000000;
enum { LOOKS_AFTER_GAP = 16 };
static const int64_t farewell_limit_ns = 100000000;

struct letter {
  struct letter *next;
  int n_requests;
  MPI_Request requests[MAX_NEIGHBOURS];
  uint64_t words[LETTER_WORDS];
};

int control_listen(struct channel *channel) {
  if (channel->ranks == 1) {
    return MPI_SUCCESS;
  }
  struct control *control = &channel->control;
  return MPI_Irecv(control->incoming, LETTER_WORDS, MPI_UINT64_T, MPI_ANY_SOURCE, CONTROL_TAG, channel->comm,
                   &control->request);
}

static int add_neighbour(int *neighbours, int n, int self, int rank) {
  for (int i = 0; i < n; i++) {
    if (neighbours[i] == rank) {
      return n;
    }
  }
  if (rank == self) {
    return n;
  }
  neighbours[n] = rank;
  return n + 1;
}

static int find_neighbours(const struct channel *channel, int *neighbours) {
  int n = 0;
  for (int bit = 1; bit > 0 && bit < channel->ranks; bit *= 2) {
    int64_t up = ((int64_t)channel->rank + bit) % channel->ranks;
    int64_t down = ((int64_t)channel->rank - bit + channel->ranks) % channel->ranks;
    n = add_neighbour(neighbours, n, channel->rank, (int)up);
    n = add_neighbour(neighbours, n, channel->rank, (int)down);
    if ((channel->rank ^ bit) < channel->ranks) {
      n = add_neighbour(neighbours, n, channel->rank, channel->rank ^ bit);
    }
  }
  return n;
}

void control_send(struct channel *channel, const uint64_t *words, int n_words) {
  int neighbours[MAX_NEIGHBOURS];
  struct letter *letter = malloc(sizeof *letter);
  if (letter == NULL) {
    return;
  }
  memcpy(letter->words, words, (size_t)n_words * sizeof(uint64_t));
  letter->n_requests = find_neighbours(channel, neighbours);
  for (int i = 0; i < letter->n_requests; i++) {
    letter->requests[i] = MPI_REQUEST_NULL;
    MPI_Isend(letter->words, n_words, MPI_UINT64_T, neighbours[i], CONTROL_TAG, channel->comm, &letter->requests[i]);
  }
  letter->next = channel->control.sent;
  channel->control.sent = letter;
}

void control_send_abort(struct channel *channel, int origin) {
  if (!channel->control.abort_passed_on && channel->ranks > 1) {
    channel->control.abort_passed_on = true;
    control_send(channel, (uint64_t[]){KIND_ABORT, (uint64_t)origin}, 2);
  }
}

void control_send_reports(struct channel *channel) {
  struct culprits *culprits = &channel->culprits;
  uint64_t words[LETTER_WORDS] = {KIND_REPORTS};
  int n_words = 1;
  for (int32_t i = 0; i < culprits->n_fresh; i++) {
    culprits_write(channel, culprits->fresh[i], &words[n_words]);
    n_words += REPORT_WORDS;
    if (n_words == LETTER_WORDS || i + 1 == culprits->n_fresh) {
      control_send(channel, words, n_words);
      n_words = 1;
    }
  }
  culprits->n_fresh = 0;
}

static void receive(struct channel *channel, const MPI_Status *status) {
  const uint64_t *words = channel->control.incoming;
  int count = 0;
  MPI_Get_count(status, MPI_UINT64_T, &count);
  if (count >= 2 && words[0] == KIND_ABORT) {
    control_send_abort(channel, (int)words[1]);
    channel_fail(channel, TOKAVG_ERR_ABORTED,
                 "tokavg_abort() was called on rank %d, or it failed for a reason of its own", (int)words[1]);
  }
  if (count >= 1 && words[0] == KIND_REPORTS) {
    for (int i = 1; i + REPORT_WORDS <= count; i += REPORT_WORDS) {
      culprits_receive(channel, &words[i]);
    }
  }
}

static void free_delivered_letters(struct control *control) {
  struct letter **link = &control->sent;
  while (*link != NULL) {
    struct letter *letter = *link;
    bool delivered = true;
    for (int i = 0; i < letter->n_requests; i++) {
      int complete = 0;
      MPI_Test(&letter->requests[i], &complete, MPI_STATUS_IGNORE);
      delivered = delivered && complete;
    }
    if (delivered) {
      *link = letter->next;
      free(letter);
    } else {
      link = &letter->next;
    }
  }
}

bool control_is_attentive(const struct channel *channel) {
  return atomic_load(&channel->control.polled_ns) - atomic_load(&channel->control.resumed_ns) > catching_up_ns;
}

/* Was the last look so short a time ago that no list can have been made without this rank? */
bool control_is_recent(const struct channel *channel) {
  return control_is_attentive(channel) && now_ns() - atomic_load(&channel->control.polled_ns) <= longest_gap_ns;
}

/* Takes one message if there is one. */
static int look(struct channel *channel, int *came_out) {
  struct control *control = &channel->control;
  MPI_Status status;
  int error = MPI_Test(&control->request, came_out, &status);
  if (error == MPI_SUCCESS && *came_out) {
    receive(channel, &status);
    error = control_listen(channel);
  }
  return error;
}

/* Returns whether a message came. */
bool control_poll(struct channel *channel) {
  struct control *control = &channel->control;
  if (control->request == MPI_REQUEST_NULL) {
    return false;
  }
  int64_t now = now_ns();
  int looks = 1;
  if (now - atomic_load(&control->polled_ns) > longest_gap_ns) {
    atomic_store(&control->resumed_ns, now);
    looks = LOOKS_AFTER_GAP;
  }
  bool any = false;
  while (looks > 0) {
    int came = 0;
    int error = look(channel, &came);
    if (error != MPI_SUCCESS) {
      channel_fail_mpi(channel, "MPI failed to receive a control message", error);
      break;
    }
    any = any || came;
    looks -= !came;
  }
  atomic_store(&control->polled_ns, now); /* after the looks: a start meanwhile must wait for them */
  control_send_reports(channel);
  free_delivered_letters(control);
  return any;
}

/* A message to oneself ends the receive: unlike MPI_Cancel it works on every MPI, and it needs no other rank. */
static bool end_receive(struct channel *channel) {
  struct control *control = &channel->control;
  if (control->request == MPI_REQUEST_NULL) {
    return true;
  }
  int64_t limit = now_ns() + farewell_limit_ns;
  MPI_Request send = MPI_REQUEST_NULL;
  control->farewell = KIND_FAREWELL;
  if (MPI_Isend(&control->farewell, 1, MPI_UINT64_T, channel->rank, CONTROL_TAG, channel->comm, &send)) {
    return false;
  }
  bool ended = false;
  while (now_ns() < limit) {
    int complete = 0;
    if (!ended && MPI_Test(&control->request, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete) {
      ended = control->incoming[0] == KIND_FAREWELL;
      if (!ended && control_listen(channel) != MPI_SUCCESS) {
        return false;
      }
    }
    if (ended && MPI_Test(&send, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete) {
      return true;
    }
    sched_yield();
  }
  return false;
}

/* Afterwards MPI holds no pointer of the control messages, or the channel is marked to be kept. */
void control_shut(struct channel *channel) {
  if (!end_receive(channel)) {
    channel->keep = true;
  }
  free_delivered_letters(&channel->control);
  if (channel->control.sent != NULL) {
    channel->keep = true;
  }
}

void control_free_letters(struct channel *channel) {
  while (channel->control.sent != NULL) {
    struct letter *letter = channel->control.sent;
    channel->control.sent = letter->next;
    free(letter);
  }
}
