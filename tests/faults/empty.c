/* SPDX-License-Identifier: Apache-2.0 */
/* Steps, ranks and microbatches without a token, and losses that are no numbers. */
#include <math.h>

#include "faults/ranks.h"
#include "faults/table.h"

static void scale_to_zero(tokavg_context_t *ctx, tokavg_ticket_t ticket, float *gradients, int64_t count) {
  const tokavg_scale_item_t item = {.data = gradients, .count = count, .dtype = TOKAVG_DTYPE_F32};
  const tokavg_scale_t scale = {.struct_size = (uint32_t)sizeof scale,
                                .item_size = (uint32_t)sizeof item,
                                .items = &item,
                                .n_items = 1,
                                .kind = TOKAVG_FACTOR_SCALE};
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  for (int64_t i = 0; i < count; i++) assert_true(gradients[i] == 0);
}

/* All labels ignored on all ranks, and every logit NaN: zero, and said. */
static void nothing_to_score(void **state) {
  (void)state;
  static const int32_t ignored[2] = {-100, -100};
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  for (int32_t r = 0; r < 2; r++) ranks_count(&ranks, r, ignored, 2);
  ranks_reduce(&ranks);
  for (int32_t r = 0; r < 2; r++) {
    const float logits[4] = {NAN, NAN, NAN, NAN};
    float gradient[4] = {NAN, NAN, NAN, NAN};
    float losses[2] = {NAN, NAN};
    float backward = NAN;
    const tokavg_labels_t labels = api_labels(ignored, 1, 2);
    const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                                       .logits = api_array(logits, TOKAVG_DTYPE_F32),
                                       .vocab = 2,
                                       .labels = &labels,
                                       .gradient_out = api_array(gradient, TOKAVG_DTYPE_F32),
                                       .losses_out = api_array(losses, TOKAVG_DTYPE_F32),
                                       .backward_out = &backward};
    OK(ranks.ctx[r], tokavg_cross_entropy(ranks.ctx[r], ranks.step, &ce, NULL));
    for (int i = 0; i < 4; i++) assert_true(gradient[i] == 0);
    assert_true(losses[0] == 0 && losses[1] == 0 && backward == 0);
  }
  const tokavg_result_t result = ranks_tokens(&ranks, TOKAVG_WAIT_LOSS, 0); /* the status is EMPTY */
  ASSERT_BITS(result.factor[0], 0.0);
  ASSERT_BITS(result.mean_loss[0], 0.0);
  assert_int_equal(result.nonfinite[0], 0);
  ranks_free(&ranks);
}

/* A zero comes with the status EMPTY; a NaN is shown as one. Neither passes for a small loss. */
static void zero_and_nan_are_told_apart(void **state) {
  (void)state;
  float gradients[2] = {NAN, 1};
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  ranks_reduce(&ranks);
  ASSERT_BITS(ranks_tokens(&ranks, TOKAVG_WAIT_LOSS, 0).mean_loss[0], 0.0);
  scale_to_zero(ranks.ctx[0], ranks.step, gradients, 2);
  ranks_count_uneven(&ranks);
  (void)ranks_record(ranks.ctx[0], TOKAVG_OPEN, NAN, 1);
  (void)ranks_record(ranks.ctx[1], TOKAVG_OPEN, 3, 3);
  ranks_reduce(&ranks);
  for (int32_t r = 0; r < 2; r++) {
    const tokavg_result_t result = api_result(ranks.ctx[r], ranks.step, TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_true(isnan(result.mean_loss[0]) && result.factor[0] == 0.5);
    assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY | TOKAVG_RESULT_NONFINITE);
    assert_int_equal(result.nonfinite[0], 1);
  }
  ranks_free(&ranks);
}

/* Ranks with 1 and with 3 rows send messages of one length, and with nothing at all too. */
static void unequal_rows(void **state) {
  (void)state;
  static table_t table;
  static const int32_t labels[3] = {1, 1, 1};
  ranks_t ranks;
  table_open(&table, &ranks, 3, NULL);
  const int32_t before = table.ends[0].starts;
  for (int32_t r = 0; r < 2; r++) {
    const tokavg_labels_t rows = api_labels(labels, 1 + 2 * r, 1);
    OK(ranks.ctx[r], tokavg_count(ranks.ctx[r], &rows, NULL));
  }
  ranks_reduce(&ranks);
  (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 4);
  const int64_t *n_words = table.sums[before].n_words;
  assert_true(n_words[0] > 0 && n_words[1] == n_words[0] && n_words[2] == n_words[0]);
  ranks_free(&ranks);
}

/* Microbatches (S, n) of (6, 2) and (NaN, 6). Discarded, the second takes its tokens with it: 3 and not 0.75. */
static void a_nan_microbatch(void **state) {
  (void)state;
  for (int discards = 0; discards < 2; discards++) {
    ranks_t ranks;
    ranks_open(&ranks, 2, NULL);
    OK(ranks.ctx[0], tokavg_count_add(ranks.ctx[0], 0, 2, 0, 1));
    (void)ranks_record(ranks.ctx[0], TOKAVG_OPEN, 6, 2);
    OK(ranks.ctx[0], tokavg_count_add(ranks.ctx[0], 0, 6, 0, 1));
    (void)ranks_record(ranks.ctx[0], TOKAVG_OPEN, NAN, 6);
    if (discards) OK(ranks.ctx[0], tokavg_discard(ranks.ctx[0]));
    ranks_reduce(&ranks);
    const tokavg_result_t result = ranks_tokens(&ranks, TOKAVG_WAIT_LOSS, discards ? 2 : 8);
    assert_int_equal(result.microbatches, discards ? 1 : 2);
    if (discards) assert_true(ranks_mean(&ranks) == 3);
    if (!discards) assert_true(isnan(result.mean_loss[0]) && result.nonfinite[0] == 1);
    ranks_free(&ranks);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("Automodel#1985", nothing_to_score),
      FAULT("trl#6671", zero_and_nan_are_told_apart),
      FAULT("SimpleTuner#3095", unequal_rows),
      FAULT("prime-rl#1961", a_nan_microbatch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
