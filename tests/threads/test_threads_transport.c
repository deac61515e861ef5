/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks as threads of one process. Rank threads only record; the main thread asserts. */
#define _GNU_SOURCE /* nanosleep */
#include "support/unit.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "support/internal_transport.h"
#include "support/random.h"

enum { kMostRanks = 64, kWords = 9, kSums = 40, kInFlight = 4 };

/* One rank's thread: what it is told, and what it saw. */
struct rank_thread {
  const internal_group_t *group;
  int32_t rank, ranks;
  uint64_t seed;
  int wrong;              /* sums that were not what they should be, or calls that failed */
  internal_fault_t fault; /* of the call that was to fail */
  int32_t late[kMostRanks], n_late;
  double seconds;
};

static void nap_us(long us) {
  const struct timespec nap = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&nap, NULL);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void nap_randomly(struct rank_thread *self) {
  const double draw = random_unit(&self->seed);
  if (draw < 0.3) nap_us((long)(draw * 1000));
}

/* 1: done; 0: failed, or not done within the limit. */
static int await(internal_sum_in_flight_t *sum, double limit_seconds, internal_fault_t *fault) {
  const double end = seconds_now() + limit_seconds;
  for (int polls = 0;; ++polls) {
    if (internal_test(sum, fault)) return 1;
    if (fault->status != TOKAVG_OK || seconds_now() > end) return 0;
    if (polls > 50) nap_us(50);
  }
}

static uint64_t word_of(int32_t rank, int sum, int i) {
  return ((uint64_t)rank + 1) * 0x9E3779B97F4A7C15u + (uint64_t)(sum * 100 + i); /* sums wrap around */
}

/* Checks a finished sum and the words that surround it. */
static int is_right(const struct rank_thread *self, const uint64_t *words, int sum) {
  for (int i = 0; i < kWords; ++i) {
    uint64_t expected = 0;
    for (int32_t rank = 0; rank < self->ranks; ++rank) expected += word_of(rank, sum, i);
    if (words[i] != expected) return 0;
  }
  return 1;
}

static void run_ranks(int32_t ranks, void *(*body)(void *), struct rank_thread *threads) {
  internal_fault_t fault;
  internal_group_t *group = internal_group_new(ranks, &fault);
  assert_non_null(group);
  pthread_t handles[kMostRanks];
  memset(threads, 0, sizeof *threads * (size_t)ranks);
  for (int32_t rank = 0; rank < ranks; ++rank) {
    threads[rank].group = group;
    threads[rank].rank = rank;
    threads[rank].ranks = ranks;
    threads[rank].seed = (uint64_t)(1000 * ranks + rank);
    assert_int_equal(pthread_create(&handles[rank], NULL, body, &threads[rank]), 0);
  }
  for (int32_t rank = 0; rank < ranks; ++rank) pthread_join(handles[rank], NULL);
  internal_group_free(group);
}

static void *sum_often(void *argument) {
  struct rank_thread *self = argument;
  nap_randomly(self);
  internal_transport_t *transport = internal_open_threads(self->group, self->rank, &self->fault);
  if (transport == NULL) return NULL;
  self->wrong += internal_rank(transport) != self->rank || internal_ranks(transport) != self->ranks;
  uint64_t words[kInFlight][kWords];
  internal_sum_in_flight_t *sums[kInFlight] = {NULL};
  for (int sum = 0; sum < kSums + kInFlight; ++sum) {
    const int slot = sum % kInFlight;
    if (sum >= kInFlight && sums[slot] != NULL) {
      self->wrong += !await(sums[slot], 30, &self->fault) || !is_right(self, words[slot], sum - kInFlight);
      internal_drop(sums[slot]);
      sums[slot] = NULL;
    }
    if (sum >= kSums) continue;
    for (int i = 0; i < kWords; ++i) words[slot][i] = word_of(self->rank, sum, i);
    nap_randomly(self);
    sums[slot] = internal_start(transport, words[slot], kWords, &self->fault);
    self->wrong += sums[slot] == NULL;
  }
  internal_close(transport);
  internal_free(transport);
  return NULL;
}

static void all_ranks_get_all_sums(void **state) {
  (void)state;
  static const int32_t counts[] = {1, 2, 3, 8, 64};
  struct rank_thread threads[kMostRanks];
  for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i) {
    run_ranks(counts[i], sum_often, threads);
    for (int32_t rank = 0; rank < counts[i]; ++rank) {
      if (threads[rank].fault.status != TOKAVG_OK) fail_msg("rank %d: %s", rank, threads[rank].fault.text);
      assert_int_equal(threads[rank].wrong, 0);
    }
  }
}

/* Two contexts of one group do not mix, even when one rank is done with the first before another has begun. */
static void *sum_on_two_channels(void *argument) {
  struct rank_thread *self = argument;
  for (int round = 0; round < 2; ++round) {
    if (self->rank == self->ranks - 1) nap_us(20000);
    internal_transport_t *transport = internal_open_threads(self->group, self->rank, &self->fault);
    if (transport == NULL) return NULL;
    uint64_t words[kWords];
    for (int i = 0; i < kWords; ++i) words[i] = word_of(self->rank, round, i);
    internal_sum_in_flight_t *sum = internal_start(transport, words, kWords, &self->fault);
    if (round == 0 && self->rank == 0) {
      internal_drop(sum); /* its words stay in the sum, and it goes on */
    } else {
      self->wrong += !await(sum, 30, &self->fault) || !is_right(self, words, round);
      internal_drop(sum);
    }
    internal_free(transport); /* not collective: others may still be waiting */
  }
  return NULL;
}

static void channels_do_not_mix(void **state) {
  (void)state;
  struct rank_thread threads[kMostRanks];
  for (int32_t ranks = 1; ranks <= 8; ranks += ranks == 1 ? 1 : 3) {
    run_ranks(ranks, sum_on_two_channels, threads);
    for (int32_t rank = 0; rank < ranks; ++rank) {
      if (threads[rank].fault.status != TOKAVG_OK) fail_msg("rank %d: %s", rank, threads[rank].fault.text);
      assert_int_equal(threads[rank].wrong, 0);
    }
  }
}

/* Ranks 1 and 4 come when it is too late; the deadlines of the others differ a little. */
static void *be_late(void *argument) {
  struct rank_thread *self = argument;
  const int late = self->rank == 1 || self->rank == 4;
  internal_transport_t *transport = internal_open_threads(self->group, self->rank, &self->fault);
  if (transport == NULL) return NULL;
  uint64_t before[1] = {1}, words[1] = {2}, later[1] = {3};
  internal_sum_in_flight_t *first = internal_start(transport, before, 1, &self->fault);
  if (late) nap_us(1500000);
  const double begin = seconds_now();
  internal_sum_in_flight_t *second = internal_start(transport, words, 1, &self->fault);
  if (second != NULL) {
    internal_sum_in_flight_t *third = internal_start(transport, later, 1, &self->fault);
    self->wrong += await(second, 0.2 + 0.01 * self->rank, &self->fault);
    self->n_late = internal_late_ranks(second, self->late, kMostRanks);
    internal_test(second, &self->fault); /* now, at the latest */
    int32_t again[kMostRanks];
    self->wrong += internal_late_ranks(third, again, kMostRanks) != self->n_late;
    self->wrong += memcmp(again, self->late, (size_t)self->n_late * sizeof *again) != 0;
    internal_drop(third);
  }
  self->seconds = seconds_now() - begin;
  /* What was complete before the failure stays complete. */
  internal_fault_t ignored;
  self->wrong += !internal_test(first, &ignored) || before[0] != (uint64_t)self->ranks || words[0] != 2;
  internal_drop(second);
  internal_drop(first);
  internal_free(transport);
  return NULL;
}

static void late_ranks_are_the_same_for_all(void **state) {
  (void)state;
  struct rank_thread threads[8];
  run_ranks(6, be_late, threads);
  for (int32_t rank = 0; rank < 6; ++rank) {
    assert_int_equal(threads[rank].fault.status, TOKAVG_ERR_TIMEOUT);
    if (strstr(threads[rank].fault.text, "ranks 1, 4 did not arrive") == NULL) fail_msg("%s", threads[rank].fault.text);
    assert_int_equal(threads[rank].wrong, 0);
    if (rank == 1 || rank == 4) continue;
    assert_int_equal(threads[rank].n_late, 2);
    assert_int_equal(threads[rank].late[0], 1);
    assert_int_equal(threads[rank].late[1], 4);
    if (threads[rank].seconds > 1.2) fail_msg("rank %d: %f s", rank, threads[rank].seconds);
  }
}

struct aborter {
  internal_transport_t *transport;
};

static void *abort_soon(void *argument) {
  nap_us(50000);
  internal_abort(((struct aborter *)argument)->transport);
  return NULL;
}

/* Rank 0 never adds to the sum; another thread aborts on it meanwhile. */
static void *wait_for_abort(void *argument) {
  struct rank_thread *self = argument;
  struct aborter aborter = {internal_open_threads(self->group, self->rank, &self->fault)};
  if (aborter.transport == NULL) return NULL;
  uint64_t word = 1;
  pthread_t thread;
  if (self->rank == 0) {
    self->wrong += !internal_abort_from_any_thread(aborter.transport);
    pthread_create(&thread, NULL, abort_soon, &aborter);
    pthread_join(thread, NULL);
    self->wrong += internal_start(aborter.transport, &word, 1, &self->fault) != NULL;
  } else {
    internal_sum_in_flight_t *sum = internal_start(aborter.transport, &word, 1, &self->fault);
    if (sum != NULL) self->wrong += await(sum, 30, &self->fault) || internal_late_ranks(sum, NULL, 0) != 0;
    internal_drop(sum);
  }
  internal_free(aborter.transport);
  return NULL;
}

static void abort_reaches_all_ranks(void **state) {
  (void)state;
  struct rank_thread threads[8];
  run_ranks(4, wait_for_abort, threads);
  for (int32_t rank = 0; rank < 4; ++rank) {
    assert_int_equal(threads[rank].fault.status, TOKAVG_ERR_ABORTED);
    assert_non_null(strstr(threads[rank].fault.text, "rank 0"));
    assert_int_equal(threads[rank].wrong, 0);
  }
}

/* On one thread: who waits for whom, and what a different length does. */
static void lengths_must_agree(void **state) {
  (void)state;
  internal_fault_t fault;
  internal_group_t *group = internal_group_new(3, &fault);
  internal_transport_t *transports[3];
  for (int32_t rank = 0; rank < 3; ++rank) transports[rank] = internal_open_threads(group, rank, &fault);
  internal_group_free(group); /* contexts made from it stay valid */
  uint64_t words[2] = {1, 1};
  internal_sum_in_flight_t *sum = internal_start(transports[0], words, 2, &fault);
  assert_int_equal(internal_test(sum, &fault), 0);
  char text[128];
  internal_describe_sum(sum, text, sizeof text);
  assert_string_equal(text, "waits for ranks 1, 2");
  internal_describe_transport(transports[1], text, sizeof text);
  assert_string_equal(text, "{\"transport\":\"threads\",\"rank\":1,\"ranks\":3,\"channel\":0}");
  assert_null(internal_start(transports[2], words, 1, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_DESYNC);
  assert_int_equal(internal_test(sum, &fault), 0);
  assert_int_equal(fault.status, TOKAVG_ERR_DESYNC);
  assert_non_null(strstr(fault.text, "rank 2 sums 1 words"));
  internal_drop(sum);
  for (int32_t rank = 0; rank < 3; ++rank) internal_free(transports[rank]);
}

/* Rank 0 gives up alone and leaves; rank 1, which has never been seen, finds that out and not an empty channel. */
static void a_late_rank_finds_the_failure(void **state) {
  (void)state;
  internal_fault_t fault;
  internal_group_t *group = internal_group_new(2, &fault);
  internal_transport_t *early = internal_open_threads(group, 0, &fault);
  uint64_t word = 1;
  internal_sum_in_flight_t *sum = internal_start(early, &word, 1, &fault);
  int32_t late = -1;
  assert_int_equal(internal_late_ranks(sum, &late, 1), 1);
  assert_int_equal(late, 1);
  internal_drop(sum);
  internal_free(early);
  internal_transport_t *comes = internal_open_threads(group, 1, &fault);
  assert_null(internal_start(comes, &word, 1, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_TIMEOUT);
  assert_string_equal(fault.text, "rank 1 did not arrive before the deadline");
  internal_free(comes);
  internal_group_free(group);
}

static void bad_groups_and_ranks_are_refused(void **state) {
  (void)state;
  internal_fault_t fault;
  assert_null(internal_group_new(0, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_ARGUMENT);
  assert_null(internal_group_new(65537, &fault));
  internal_group_t *group = internal_group_new(2, &fault);
  assert_null(internal_open_threads(group, 2, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_CONFIG);
  assert_non_null(strstr(fault.text, "comm_rank is 2"));
  assert_null(internal_open_threads(group, -1, &fault));
  internal_group_free(group);
  assert_null(internal_open(TOKAVG_COMM_THREADS, NULL, 0, TOKAVG_PROGRESS_AUTO, "", &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_CONFIG);
}

static void one_rank_alone_needs_nobody(void **state) {
  (void)state;
  internal_fault_t fault;
  internal_transport_t *self = internal_open(TOKAVG_COMM_SELF, NULL, 0, TOKAVG_PROGRESS_AUTO, "", &fault);
  uint64_t word = 7;
  internal_sum_in_flight_t *sum = internal_start(self, &word, 1, &fault);
  assert_int_equal(internal_test(sum, &fault), 1);
  assert_int_equal(word, 7);
  assert_int_equal(internal_rank(self), 0);
  assert_int_equal(internal_ranks(self), 1);
  internal_drop(sum);
  internal_abort(self);
  internal_close(self);
  internal_free(self);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_ranks_get_all_sums),
      cmocka_unit_test(channels_do_not_mix),
      cmocka_unit_test(late_ranks_are_the_same_for_all),
      cmocka_unit_test(abort_reaches_all_ranks),
      cmocka_unit_test(lengths_must_agree),
      cmocka_unit_test(a_late_rank_finds_the_failure),
      cmocka_unit_test(bad_groups_and_ranks_are_refused),
      cmocka_unit_test(one_rank_alone_needs_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
