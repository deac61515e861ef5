/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ranks have not arrived. Only log2(ranks) ranks wait directly for a dead one; the others wait for innocent
 * ranks that wait themselves. So when a deadline passes, every rank that waits reports {itself, whom it waits for},
 * all reports reach all ranks (control.c), and 50 ms after the first one each rank computes the same list.
 *
 * A rank reports itself only if it is attentive, that is, has looked at its control messages a moment ago. One that
 * was stopped or computed without a call finds old reports, whose lists are already made; by staying silent it
 * comes to the list that the others have, with itself in it.
 */
#include "channel.h"

#include <stdlib.h>

static const int64_t collection_ns = 50000000;
static const int64_t longest_call_ns = 90000000;

static void begin_collection(struct channel *channel) {
  struct culprits *culprits = &channel->culprits;
  if (culprits->collecting) {
    return;
  }
  size_t ranks = (size_t)channel->ranks;
  culprits->collecting = true;
  culprits->since_ns = now_ns();
  culprits->reports = calloc(ranks, sizeof *culprits->reports);
  culprits->fresh = calloc(ranks, sizeof *culprits->fresh);
  culprits->late = calloc(ranks, sizeof *culprits->late);
  if (culprits->reports == NULL || culprits->fresh == NULL || culprits->late == NULL) {
    free(culprits->reports);
    culprits->reports = NULL; /* the list stays empty: not known */
  }
}

static struct sum *oldest_unfinished(struct channel *channel) {
  struct sum *oldest = NULL;
  for (int i = 0; i < MAX_SUMS; i++) {
    struct sum *sum = &channel->sums[i];
    int state = atomic_load_explicit(&sum->state, memory_order_acquire);
    if ((state == SUM_READY || state == SUM_RUNNING) && (oldest == NULL || sum->sequence < oldest->sequence)) {
      oldest = sum;
    }
  }
  return oldest;
}

static void record(struct channel *channel, int32_t reporter, struct report report) {
  struct culprits *culprits = &channel->culprits;
  if (culprits->reports != NULL && !culprits->reports[reporter].seen) {
    culprits->reports[reporter] = report;
    culprits->fresh[culprits->n_fresh++] = reporter;
  }
}

/* -1: not even a place in the rounds, as before the fold or when folded away. */
static int rounds_behind(const struct channel *channel, const struct sum *sum) {
  switch (sum->phase) {
    case ROUND: return sum->round;
    case UNFOLD_SEND: return channel->rounds;
    default: return -1;
  }
}

/* This rank's own report, about the oldest sum that it waits in. A rank that waits in none says so. */
void culprits_report(struct channel *channel) {
  struct sum *sum = oldest_unfinished(channel);
  struct report report = {.seen = true, .waits_for = -1, .rounds = channel->rounds};
  begin_collection(channel);
  if (sum != NULL) {
    bool begun = atomic_load(&sum->state) == SUM_RUNNING;
    report.sequence = sum->sequence;
    report.rounds = begun ? rounds_behind(channel, sum) : -1;
    report.waits_for = begun ? hypercube_peer(channel, sum) : -1;
    report.first = begun && (sum->phase == FOLD_RECEIVE || (sum->phase == ROUND && sum->round == 0));
  } else {
    report.sequence = atomic_load(&channel->next_sequence) - 1;
  }
  record(channel, channel->rank, report);
}

void culprits_write(const struct channel *channel, int32_t reporter, uint64_t *words) {
  const struct report *report = &channel->culprits.reports[reporter];
  words[0] = (uint64_t)reporter;
  words[1] = (uint64_t)(int64_t)report->waits_for;
  words[2] = (uint64_t)report->sequence;
  words[3] = (uint64_t)(int64_t)(2 * report->rounds + report->first);
}

/* Another rank's report. If this rank has posted that sum, or waits in an older one, it joins. */
void culprits_receive(struct channel *channel, const uint64_t *words) {
  struct culprits *culprits = &channel->culprits;
  int64_t ranks = channel->ranks;
  int64_t waits_for = (int64_t)words[1];
  if (culprits->frozen || words[0] >= (uint64_t)ranks || waits_for < -1 || waits_for >= ranks) {
    return;
  }
  int64_t code = (int64_t)words[3];
  struct report report = {.seen = true, .waits_for = (int32_t)waits_for, .sequence = (int64_t)words[2]};
  report.first = (code & 1) != 0;
  report.rounds = (int32_t)((code - (code & 1)) / 2);
  if (!culprits->collecting) {
    begin_collection(channel);
    culprits->silent = !control_is_attentive(channel);
  }
  record(channel, (int32_t)words[0], report);
  bool arrived = report.sequence < atomic_load(&channel->next_sequence) || oldest_unfinished(channel) != NULL;
  if (arrived && !culprits->silent) {
    culprits_report(channel);
  }
}

/* The oldest sum that somebody waits in; what is reported about later ones follows from it. */
static int64_t stuck_sequence(const struct channel *channel) {
  int64_t stuck = INT64_MAX;
  for (int rank = 0; rank < channel->ranks; rank++) {
    const struct report *report = &channel->culprits.reports[rank];
    if (report->seen && report->waits_for >= 0 && report->sequence < stuck) {
      stuck = report->sequence;
    }
  }
  return stuck;
}

/* Those whom somebody waits for and who do not wait themselves. Returns whether one has not sent anything at all. */
static bool mark_awaited(struct channel *channel, int64_t stuck) {
  struct culprits *culprits = &channel->culprits;
  bool nothing_sent = false;
  for (int rank = 0; rank < channel->ranks; rank++) {
    const struct report *report = &culprits->reports[rank];
    if (!report->seen || report->sequence != stuck || report->waits_for < 0) {
      continue;
    }
    if (!culprits->reports[report->waits_for].seen) {
      culprits->late[report->waits_for] = 1;
      nothing_sent = nothing_sent || report->first;
    }
  }
  return nothing_sent;
}

/*
 * Where one rank has sent nothing, no rank can have the sum, and every silent rank is missing, unless its words are
 * contained in what a reporter has: after k rounds that is the reporter's aligned block of 2^k positions. This finds
 * the whole of a dead node, of which the hypercube may wait for a part only.
 */
static void mark_silent(struct channel *channel, int64_t stuck) {
  struct culprits *culprits = &channel->culprits;
  int *edges = calloc((size_t)channel->power + 1, sizeof *edges);
  if (edges == NULL) {
    return;
  }
  for (int rank = 0; rank < channel->ranks; rank++) {
    const struct report *report = &culprits->reports[rank];
    bool odd_or_above = rank >= 2 * channel->folded || rank % 2 == 1;
    if (report->seen && report->sequence == stuck && odd_or_above && report->rounds >= 0 &&
        report->rounds <= channel->rounds) {
      int position = rank >= 2 * channel->folded ? rank - channel->folded : rank / 2;
      int begin = position >> report->rounds << report->rounds;
      edges[begin]++;
      edges[begin + (1 << report->rounds)]--;
    }
  }
  int covering = 0;
  for (int position = 0; position < channel->power; position++) {
    covering += edges[position];
    bool pair = position < channel->folded;
    int first = pair ? 2 * position : position + channel->folded;
    for (int rank = first; covering == 0 && rank <= first + pair; rank++) {
      if (!culprits->reports[rank].seen) {
        culprits->late[rank] = 1;
      }
    }
  }
  free(edges);
}

static void freeze(struct channel *channel) {
  struct culprits *culprits = &channel->culprits;
  culprits->frozen = true;
  if (culprits->reports == NULL) {
    return;
  }
  int64_t stuck = stuck_sequence(channel);
  if (mark_awaited(channel, stuck)) {
    mark_silent(channel, stuck);
  }
  for (int rank = 0; rank < channel->ranks; rank++) {
    culprits->n_late += culprits->late[rank];
  }
}

void culprits_tick(struct channel *channel) {
  struct culprits *culprits = &channel->culprits;
  if (culprits->collecting && !culprits->frozen && now_ns() - culprits->since_ns >= collection_ns) {
    freeze(channel);
    channel_fail(channel, TOKAVG_ERR_TIMEOUT, "a deadline passed; %d ranks have not arrived", culprits->n_late);
  }
}

/* One look; returns whether the list is there, or never will be. */
static bool look_for_list(struct channel *channel) {
  struct culprits *culprits = &channel->culprits;
  if (channel->detached || atomic_load(&channel->status) != TOKAVG_OK) {
    return true;
  }
  control_poll(channel);
  if (!culprits->collecting && control_is_attentive(channel)) {
    culprits_report(channel);
    control_send_reports(channel);
  }
  culprits_tick(channel);
  return culprits->frozen;
}

/* `request` may be gone: the list belongs to the channel's failure, not to a sum. */
tokavg_status_t table_late_ranks(void *user, void *request, int32_t *ranks_out, int32_t capacity, int32_t *count_out) {
  struct channel *channel = user;
  (void)request;
  *count_out = 0;
  if (channel_usable(channel) == TOKAVG_ERR_STATE) {
    return TOKAVG_ERR_STATE;
  }
  int64_t limit = now_ns() + longest_call_ns;
  process_lock();
  while (!look_for_list(channel) && now_ns() < limit) {
    process_unlock();
    nap_ns(200000);
    process_lock();
  }
  int32_t count = 0;
  for (int rank = 0; channel->culprits.frozen && channel->culprits.n_late > 0 && rank < channel->ranks; rank++) {
    if (channel->culprits.late[rank]) {
      if (count < capacity) {
        ranks_out[count] = rank;
      }
      count++;
    }
  }
  *count_out = count;
  process_unlock();
  return TOKAVG_OK;
}
