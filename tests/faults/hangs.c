/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that stay away, come late, or come in another order. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "faults/ranks.h"

static void sleep_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

static tokavg_config_t impatient(void) {
  tokavg_config_t config = api_config();
  config.timeout_ms = 1000; /* also for tokavg_init, on a machine with much to do */
  return config;
}

/* A rank that finds no sample and goes on to the next batch without the reduce. */
static void a_rank_skips_the_reduce(void **state) {
  (void)state;
  const tokavg_config_t config = impatient();
  ranks_t ranks;
  ranks_open(&ranks, 2, &config);
  OK(ranks.ctx[0], tokavg_count_add(ranks.ctx[0], 0, 4, 0, 1));
  ranks.step = api_reduce(ranks.ctx[0]);
  EXPECT(ranks.ctx[0], tokavg_wait(ranks.ctx[0], ranks.step, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_TIMEOUT,
         "rank 1 did not arrive");
  ranks_free(&ranks);
}

typedef struct uneven {
  tokavg_context_t *ctx;
  int batches;
  int steps;
  int64_t tokens; /* of all ranks and steps */
  tokavg_status_t worst;
} uneven_t;

/* The loop that tokavg.h gives for uneven data. */
static void *until_all_are_done(void *argument) {
  uneven_t *rank = argument;
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  tokavg_reduce_t options = {.struct_size = (uint32_t)sizeof options};
  int has_data = 0;
  do {
    tokavg_ticket_t step = 0;
    tokavg_status_t status = TOKAVG_OK;
    has_data = rank->steps < rank->batches;
    if (has_data) status = tokavg_count_add(rank->ctx, 0, 1, 0, 1);
    options.flags = has_data ? 0 : TOKAVG_REDUCE_DONE;
    if (status == TOKAVG_OK) status = tokavg_reduce(rank->ctx, &options, NULL, &step);
    if (status == TOKAVG_OK) status = tokavg_wait(rank->ctx, step, TOKAVG_WAIT_COUNT, -1, &result);
    if (status < rank->worst) rank->worst = status;
    if (status < 0) return NULL;
    rank->tokens += result.tokens[0];
    rank->steps++;
  } while (has_data || result.done_ranks < result.label_ranks);
  return NULL;
}

/* Rank 2 has 8 batches, the others 4. */
static void ranks_run_out_of_data(void **state) {
  (void)state;
  ranks_t ranks;
  uneven_t each[3];
  pthread_t threads[3];
  ranks_open(&ranks, 3, NULL);
  for (int32_t r = 0; r < 3; r++) {
    each[r] = (uneven_t){.ctx = ranks.ctx[r], .batches = r == 2 ? 8 : 4};
    assert_int_equal(pthread_create(&threads[r], NULL, until_all_are_done, &each[r]), 0);
  }
  for (int32_t r = 0; r < 3; r++) {
    pthread_join(threads[r], NULL);
    assert_int_equal(each[r].worst, TOKAVG_OK);
    assert_int_equal(each[r].steps, 9);
    assert_int_equal(each[r].tokens, 4 * 3 + 4);
  }
  ranks_free(&ranks);
}

/* The same without a word: the one that goes on is told which ranks left. */
static void ranks_leave(void **state) {
  (void)state;
  const tokavg_config_t config = impatient();
  ranks_t ranks;
  ranks_open(&ranks, 3, &config);
  for (int64_t step = 1; step <= 4; step++) {
    for (int32_t r = 0; r < 3; r++) OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, 1, 0, 1));
    ranks_reduce(&ranks);
    (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 3);
  }
  OK(ranks.ctx[2], tokavg_count_add(ranks.ctx[2], 0, 1, 0, 1));
  ranks.step = api_reduce(ranks.ctx[2]);
  EXPECT(ranks.ctx[2], tokavg_wait(ranks.ctx[2], ranks.step, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_TIMEOUT,
         "ranks 0, 1 did not arrive");
  ranks_free(&ranks);
}

static void *reduce_late(void *argument) {
  tokavg_ticket_t ticket = 0;
  sleep_ms(50);
  if (tokavg_reduce(argument, NULL, NULL, &ticket) != TOKAVG_OK) return NULL;
  return argument;
}

/* Read before the other rank has come: not yet, or waited for; never this rank's own count, nor the step before. */
static void read_early(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  for (int32_t r = 0; r < 2; r++) OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, 1, 0, 1));
  ranks_reduce(&ranks);
  assert_true(ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 2).factor[0] == 1);
  ranks_count_uneven(&ranks);
  const tokavg_ticket_t ticket = api_reduce(ranks.ctx[0]);
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  EXPECT(ranks.ctx[0], tokavg_wait(ranks.ctx[0], ticket, TOKAVG_WAIT_COUNT, 0, &result), TOKAVG_PENDING,
         "not complete");
  assert_true(result.tokens[0] == 0 && result.factor[0] == 0);
  pthread_t late;
  void *reduced = NULL;
  assert_int_equal(pthread_create(&late, NULL, reduce_late, ranks.ctx[1]), 0);
  const double factor = api_factor(ranks.ctx[0], ticket, 0, TOKAVG_FACTOR_SCALE);
  pthread_join(late, &reduced);
  assert_ptr_equal(reduced, ranks.ctx[1]);
  assert_true(factor == 0.5);
  ranks_free(&ranks);
}

/* Counts on one group and another sum beside them, in opposite orders on two ranks, 10^4 times. */
static void two_groups_in_opposite_orders(void **state) {
  (void)state;
  ranks_t groups[2];
  for (int g = 0; g < 2; g++) ranks_open(&groups[g], 2, NULL);
  for (int step = 0; step < 10000; step++) {
    for (int32_t r = 0; r < 2; r++) {
      for (int i = 0; i < 2; i++) {
        const int g = (i + r) % 2;
        OK(groups[g].ctx[r], tokavg_count_add(groups[g].ctx[r], 0, step % 7 + g + r, 0, 1));
        groups[g].step = api_reduce(groups[g].ctx[r]);
      }
    }
    for (int g = 1; g >= 0; g--) (void)ranks_tokens(&groups[g], TOKAVG_WAIT_COUNT, 2 * (step % 7 + g) + 1);
  }
  for (int g = 0; g < 2; g++) ranks_free(&groups[g]);
}

/* Which calls are collective is said in the header. All others end though no other rank ever comes. */
static void calls_of_one_rank(void **state) {
  (void)state;
  static const int32_t row[] = {1, -100, 1};
  static char text[16384];
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  tokavg_context_t *ctx = ranks.ctx[0];
  ranks_count(&ranks, 0, row, 3);
  OK(ctx, tokavg_discard(ctx));
  OK(ctx, tokavg_count_add(ctx, 0, 2, 0, 1));
  (void)ranks_record(ctx, TOKAVG_OPEN, 2, 2);
  const tokavg_ticket_t ticket = api_reduce(ctx);
  OK(ctx, tokavg_progress(ctx));
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 0, NULL), TOKAVG_PENDING);
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 10, NULL), TOKAVG_PENDING);
  const double value = 1;
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1); /* without backward_out: no factor is needed */
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  OK(ctx, tokavg_flush(ctx, NULL)); /* collective, but it does not wait */
  OK(ctx, tokavg_describe(ctx, text, (int64_t)sizeof text, NULL));
  OK(ctx, tokavg_last_error(ctx, text, (int64_t)sizeof text, NULL));
  OK(ctx, tokavg_release(ctx, ticket));
  ranks_free(&ranks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("Automodel#2468", a_rank_skips_the_reduce),
      FAULT("horovod#3980", ranks_run_out_of_data),
      FAULT("torchrec#4158", ranks_leave),
      FAULT("OpenNMT-py#2295", read_early),
      FAULT("nccl#195", two_groups_in_opposite_orders),
      FAULT("Neuron_SP#73", calls_of_one_rank),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
