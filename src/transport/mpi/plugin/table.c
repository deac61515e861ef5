/* SPDX-License-Identifier: Apache-2.0 */
/* start, test, cancel and abort. They never wait for the lock while a sum could be finished elsewhere. */
#include "channel.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct sum *claim(struct channel *channel) {
  for (int i = 0; i < MAX_SUMS; i++) {
    int expected = SUM_FREE;
    if (!atomic_compare_exchange_strong(&channel->sums[i].state, &expected, SUM_CLAIMED)) {
      continue;
    }
    int used = atomic_load(&channel->n_used);
    while (used < i + 1 && !atomic_compare_exchange_weak(&channel->n_used, &used, i + 1)) {
    }
    return &channel->sums[i];
  }
  return NULL;
}

/* The core's words are copied: MPI may hold on to a buffer for longer than the core does. */
static tokavg_status_t fill(struct channel *channel, struct sum *sum, uint64_t *words, int64_t n_words) {
  if (sum->total == NULL) {
    sum->total = malloc(2 * (size_t)channel->max_words * sizeof(uint64_t));
    if (sum->total == NULL) {
      return TOKAVG_ERR_MEMORY;
    }
    sum->incoming = sum->total + channel->max_words;
  }
  memcpy(sum->total, words, (size_t)n_words * sizeof(uint64_t));
  sum->words = words;
  sum->n_words = (int)n_words;
  sum->phase = ROUND;
  sum->round = 0;
  return TOKAVG_OK;
}

/* The pace of the sums sets how long the progress thread may sleep. */
static void note_pace(struct channel *channel) {
  int64_t now = now_ns();
  int64_t before = atomic_exchange(&channel->last_start_ns, now);
  if (before != 0) {
    int64_t interval = atomic_load(&channel->interval_ns);
    atomic_store(&channel->interval_ns, interval + (now - before - interval) / 8);
  }
}

/*
 * No call here tests a request unless it must: in a test MPI gives the core away when ranks share it (Open MPI's
 * mpi_yield_when_idle), which cost 200 us with 8 ranks on 2 cores.
 *
 * A rank that arrives after the others' deadline learns of it here, before it counts as arrived: it must not report
 * itself as a waiting one.
 */
static tokavg_status_t look_before_start(struct channel *channel) {
  if (channel->detached) {
    return atomic_load(&channel->status);
  }
  if (!control_is_recent(channel)) {
    control_poll(channel);
  }
  tokavg_status_t status = atomic_load(&channel->status);
  return status == TOKAVG_OK && channel->culprits.collecting ? TOKAVG_ERR_TIMEOUT : status;
}

static tokavg_status_t post(struct channel *channel, uint64_t *words, int64_t n_words, void **request_out) {
  struct sum *sum = claim(channel);
  if (sum == NULL) {
    return TOKAVG_ERR_TRANSPORT; /* the core keeps far fewer than MAX_SUMS in flight */
  }
  tokavg_status_t status = fill(channel, sum, words, n_words);
  if (status != TOKAVG_OK) {
    atomic_store(&sum->state, SUM_FREE);
    return status;
  }
  if (channel->threaded) {
    atomic_fetch_add(&process.unfinished, 1);
  }
  sum->sequence = atomic_fetch_add(&channel->next_sequence, 1);
  atomic_store_explicit(&sum->state, SUM_READY, memory_order_release);
  *request_out = sum;
  return TOKAVG_OK;
}

tokavg_status_t table_start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  struct channel *channel = user;
  *request_out = NULL;
  tokavg_status_t status = channel_usable(channel);
  if (status != TOKAVG_OK) {
    return status;
  }
  if (n_words < 1 || n_words > channel->max_words) {
    return TOKAVG_ERR_ARGUMENT;
  }
  note_pace(channel);
  bool locked = process_try_lock();
  if (!locked && !control_is_recent(channel)) {
    process_lock(); /* the thread is looking for what this rank has missed: that must be known first */
    locked = true;
  }
  if (locked) {
    status = look_before_start(channel);
  }
  if (status == TOKAVG_OK) {
    status = post(channel, words, n_words, request_out);
  }
  if (locked) {
    if (status == TOKAVG_OK) {
      channel_begin_sums(channel);
    }
    process_unlock();
  }
  if (channel->threaded && status == TOKAVG_OK) {
    progress_wake();
  }
  return status;
}

/* The request is gone: its slot may serve the next sum. */
static void release(struct sum *sum) { atomic_store_explicit(&sum->state, SUM_FREE, memory_order_release); }

/*
 * Without a thread a wait moves all contexts of the process on. Otherwise two ranks that wait in different contexts,
 * each for a round that the other has begun, would wait for ever.
 */
static void advance_others(const struct channel *channel) {
  for (struct channel *other = process.channels; other != NULL; other = other->next) {
    if (other != channel && !other->threaded) {
      channel_advance(other);
    }
  }
}

tokavg_status_t table_test(void *user, void *request, int32_t *done_out) {
  struct channel *channel = user;
  struct sum *sum = request;
  *done_out = 0;
  tokavg_status_t status = channel_usable(channel);
  if (status == TOKAVG_ERR_STATE) {
    return status;
  }
  int state = atomic_load_explicit(&sum->state, memory_order_acquire);
  if (state != SUM_DONE && state != SUM_FAILED && process_try_lock()) {
    channel_advance(channel);
    if (!channel->threaded) {
      advance_others(channel);
    }
    process_unlock();
    state = atomic_load_explicit(&sum->state, memory_order_acquire);
  }
  if (state == SUM_DONE) {
    memcpy(sum->words, sum->total, (size_t)sum->n_words * sizeof(uint64_t));
    *done_out = 1;
    release(sum);
    return TOKAVG_OK;
  }
  if (state == SUM_FAILED) {
    release(sum);
    return channel_usable(channel);
  }
  return TOKAVG_OK;
}

/* The other ranks may already have this rank's words, so that a sum given up half-way ends the channel. */
tokavg_status_t table_cancel(void *user, void *request) {
  struct channel *channel = user;
  struct sum *sum = request;
  if (channel_usable(channel) == TOKAVG_ERR_STATE) {
    return TOKAVG_ERR_STATE;
  }
  process_lock();
  int state = atomic_load(&sum->state);
  if (state == SUM_READY || state == SUM_RUNNING) {
    channel_fail(channel, TOKAVG_ERR_TRANSPORT, "a sum was given up on this rank before it was complete");
  }
  process_unlock();
  release(sum);
  return TOKAVG_OK;
}

tokavg_status_t table_abort(void *user) {
  struct channel *channel = user;
  if (channel->pid != getpid()) {
    return TOKAVG_ERR_STATE;
  }
  process_lock();
  if (!channel->detached) {
    control_send_abort(channel, channel->rank);
    channel_fail(channel, TOKAVG_ERR_ABORTED, "tokavg_abort() was called on this rank");
  }
  process_unlock();
  return TOKAVG_OK;
}
