/* SPDX-License-Identifier: Apache-2.0 */
/* What is shown to people: never a factor in it, and an evaluation is a step like any other. */
#include "faults/ranks.h"
#include "faults/table.h"

/* Nothing has been trained when the first evaluation comes; one without data is no crash either. */
static void evaluation_before_training(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  ranks_reduce(&ranks);
  ASSERT_BITS(ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 0).mean_loss[0], 0.0);
  ranks_count_uneven(&ranks);
  (void)ranks_record(ranks.ctx[0], TOKAVG_OPEN, 4, 1);
  (void)ranks_record(ranks.ctx[1], TOKAVG_OPEN, 3, 3);
  ranks_reduce(&ranks);
  assert_true(ranks_mean(&ranks) == 1.75);
  ranks_free(&ranks);
}

/* What backward is called on has the ranks in it, what is reported has not. */
static void backward_and_report(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  ranks_count_uneven(&ranks);
  ranks_reduce(&ranks);
  assert_true(ranks_record(ranks.ctx[0], ranks.step, 4, 1) == 2.0);
  assert_true(ranks_record(ranks.ctx[1], ranks.step, 3, 3) == 1.5);
  assert_true(ranks_mean(&ranks) == 1.75);
  for (int32_t r = 0; r < 2; r++) {
    assert_true(api_factor(ranks.ctx[r], ranks.step, 0, TOKAVG_FACTOR_REPORT) == 0.25);
  }
  ranks_free(&ranks);
}

/* A transport is told how many words there are, and all of them may be read and written. (A sanitizer would tell.) */
static void lengths_in_elements(void **state) {
  (void)state;
  static table_t table;
  ranks_t ranks;
  table_open(&table, &ranks, 2, NULL);
  ranks_count_uneven(&ranks);
  ranks_reduce(&ranks);
  (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 4);
  ranks_free(&ranks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("trl#4112", evaluation_before_training),
      FAULT("RL2#11", backward_and_report),
      FAULT("llm.c:zero.cuh", lengths_in_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
