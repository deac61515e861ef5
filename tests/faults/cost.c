/* SPDX-License-Identifier: Apache-2.0 */
/* What a step costs, in messages, and that neither layout nor order can be seen in its numbers. */
#include "faults/ranks.h"
#include "faults/table.h"

enum { PASSES = 10 };

/* One message a step, of one length, which the reduce begins and does not wait for. */
static void one_message_in_flight(void **state) {
  (void)state;
  static table_t table;
  ranks_t ranks;
  table_open(&table, &ranks, 2, NULL);
  const int32_t before = table.ends[0].starts;
  for (int32_t step = 0; step < PASSES; step++) {
    ranks_count(&ranks, 0, (const int32_t[]){1, -100, -100}, 3);
    ranks.step = api_reduce(ranks.ctx[0]); /* returns though rank 1 has not come */
    assert_int_equal(tokavg_wait(ranks.ctx[0], ranks.step, TOKAVG_WAIT_COUNT, 0, NULL), TOKAVG_PENDING);
    ranks_count(&ranks, 1, (const int32_t[]){1, 1, 1}, 3);
    (void)api_reduce(ranks.ctx[1]);
    for (int32_t r = 0; r < 2; r++) {
      (void)ranks_record(ranks.ctx[r], ranks.step, 4, 1 + 2 * r);
      (void)api_factor(ranks.ctx[r], ranks.step, 0, TOKAVG_FACTOR_SCALE);
      assert_int_equal(table.ends[r].starts, before + step + 1);
    }
    (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 4);
    assert_int_equal(table.sums[before + step].n_words[0], table.sums[before].n_words[0]);
  }
  assert_true(table.sums[before].n_words[0] * 8 < 2048);
  ranks_free(&ranks);
}

/* Counted where the batch is collated, or from its labels: the same bits over ten steps. */
static void counted_at_collation(void **state) {
  (void)state;
  int32_t labels[16];
  tokavg_context_t *ctx = api_self();
  for (int step = 0; step < PASSES; step++) {
    int64_t scored = 0;
    for (int i = 0; i < 16; i++) {
      labels[i] = (i * 7 + step * 5) % 3 == 0 ? -100 : i;
      scored += labels[i] != -100;
    }
    const tokavg_labels_t row = api_labels(labels, 1, 16);
    OK(ctx, tokavg_count(ctx, &row, NULL));
    const tokavg_result_t from_labels = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
    OK(ctx, tokavg_count_add(ctx, 0, scored, 0, 1));
    const tokavg_result_t known = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
    assert_int_equal(from_labels.tokens[0], known.tokens[0]);
    ASSERT_BITS(from_labels.factor[0], known.factor[0]);
  }
  api_free(ctx);
}

/* Five terms with their tokens and losses: one sum, not five and not ten. */
static void five_scalars(void **state) {
  (void)state;
  static table_t table;
  tokavg_config_t config = api_config();
  config.terms = 5;
  ranks_t ranks;
  table_open(&table, &ranks, 2, &config);
  const int32_t before = table.ends[0].starts;
  for (int32_t r = 0; r < 2; r++) {
    for (int32_t term = 0; term < 5; term++) {
      const double sum = 3 * (term + 1);
      tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &sum, term + 1);
      loss.term = term;
      OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], term, term + 1, 0, term == 0));
      OK(ranks.ctx[r], tokavg_loss(ranks.ctx[r], TOKAVG_OPEN, &loss, NULL));
    }
  }
  ranks_reduce(&ranks);
  const tokavg_result_t result = ranks_tokens(&ranks, TOKAVG_WAIT_LOSS, 2);
  for (int32_t term = 0; term < 5; term++) {
    assert_int_equal(result.tokens[term], 2 * (term + 1));
    assert_true(result.mean_loss[term] == 3);
  }
  assert_int_equal(table.ends[0].starts - before, 1);
  ranks_free(&ranks);
}

enum { SAMPLES = 8 };

/* Sample i has i + 1 tokens with losses that are no binary fractions; rank r has those of the list that are its. */
static tokavg_result_t spread(int32_t n, const int32_t *order) {
  ranks_t ranks;
  ranks_open(&ranks, n, NULL);
  for (int32_t i = 0; i < SAMPLES; i++) {
    tokavg_context_t *ctx = ranks.ctx[i * n / SAMPLES];
    OK(ctx, tokavg_count_add(ctx, 0, order[i] + 1, 0, 1));
    (void)ranks_record(ctx, TOKAVG_OPEN, 0.1 * (order[i] + 1) + 1e9 * (order[i] % 2), order[i] + 1);
  }
  ranks_reduce(&ranks);
  const double mean = ranks_mean(&ranks);
  const tokavg_result_t result = ranks_tokens(&ranks, TOKAVG_WAIT_LOSS, 36);
  ASSERT_BITS(result.mean_loss[0], mean);
  ranks_free(&ranks);
  return result;
}

static void any_number_of_ranks(void **state) {
  (void)state;
  static const int32_t order[SAMPLES] = {0, 1, 2, 3, 4, 5, 6, 7};
  const tokavg_result_t one = spread(1, order);
  for (int32_t n = 1; n <= SAMPLES; n *= 2) {
    const tokavg_result_t result = spread(n, order);
    ASSERT_BITS(result.factor[0], (double)n / 36);
    ASSERT_BITS(result.mean_loss[0], one.mean_loss[0]);
  }
}

static void any_order_of_ranks(void **state) {
  (void)state;
  static const int32_t orders[3][SAMPLES] = {
      {0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}, {1, 3, 5, 7, 0, 2, 4, 6}};
  const tokavg_result_t first = spread(SAMPLES, orders[0]);
  for (int i = 1; i < 3; i++) {
    const tokavg_result_t result = spread(SAMPLES, orders[i]);
    assert_int_equal(result.tokens[0], first.tokens[0]);
    ASSERT_BITS(result.factor[0], first.factor[0]);
    ASSERT_BITS(result.loss_sum[0], first.loss_sum[0]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("torchtitan#2850", one_message_in_flight),
      FAULT("torchtitan#4099", counted_at_collation),
      FAULT("ms-swift#9795", five_scalars),
      FAULT("trl#3538", any_number_of_ranks),
      FAULT("Megatron-LM#7081", any_order_of_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
