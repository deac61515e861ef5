/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and sums in types that cannot hold them. */
#include <stdlib.h>

#include "faults/ranks.h"

/* The type of the logits has no say in the count: 275 is no bfloat16, and neither is 431. */
static void a_count_beside_bf16_losses(void **state) {
  (void)state;
  enum { VOCAB = 2 };
  static uint16_t logits[431 * VOCAB]; /* all zero: each loss is log 2 */
  static int32_t labels[431];
  tokavg_context_t *ctx = api_self();
  for (int64_t rows = 275; rows <= 431; rows += 431 - 275) {
    const tokavg_labels_t all = api_labels(labels, rows, 1);
    OK(ctx, tokavg_count(ctx, &all, NULL));
    const tokavg_ticket_t ticket = api_reduce(ctx);
    const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                                       .logits = api_array(logits, TOKAVG_DTYPE_BF16),
                                       .vocab = VOCAB,
                                       .labels = &all};
    OK(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL));
    OK(ctx, tokavg_flush(ctx, NULL));
    const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_int_equal(result.tokens[0], rows);
    assert_int_equal(result.loss_tokens[0], rows);
  }
  api_free(ctx);
}

static void a_sum_over_ranks(void **state) {
  (void)state;
  static const int64_t tokens[] = {6400, 1600, 400};
  int32_t *labels = calloc(6400, sizeof *labels);
  assert_non_null(labels);
  ranks_t ranks;
  ranks_open(&ranks, 3, NULL);
  for (int32_t r = 0; r < 3; r++) ranks_count(&ranks, r, labels, tokens[r]);
  ranks_reduce(&ranks);
  (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 8400);
  ranks_free(&ranks);
  free(labels);
}

/* Beyond int32, and beyond what a float can tell apart, in the count and in the report. */
static void large_counts(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  OK(ranks.ctx[0], tokavg_count_add(ranks.ctx[0], 0, INT32_MAX, 0, 1));
  OK(ranks.ctx[1], tokavg_count_add(ranks.ctx[1], 0, 1, 0, 1));
  ranks_reduce(&ranks);
  (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, INT64_C(2147483648));
  OK(ranks.ctx[0], tokavg_count_add(ranks.ctx[0], 0, 16777216, 0, 1));
  OK(ranks.ctx[1], tokavg_count_add(ranks.ctx[1], 0, 1, 0, 1));
  ranks_reduce(&ranks);
  (void)ranks_record(ranks.ctx[0], ranks.step, 16777216, 16777216);
  (void)ranks_record(ranks.ctx[1], ranks.step, 1, 1);
  assert_true(ranks_mean(&ranks) == 1);
  const tokavg_result_t result = ranks_tokens(&ranks, TOKAVG_WAIT_LOSS, 16777217);
  assert_int_equal(result.loss_tokens[0], 16777217);
  assert_true(result.loss_sum[0] == 16777217);
  ranks_free(&ranks);
}

/* One more is one more, also after 2^24. */
static void one_more(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 16777216, 0, 1));
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
  (void)ranks_record(ctx, TOKAVG_OPEN, 16777216, 16777216);
  (void)ranks_record(ctx, TOKAVG_OPEN, 1, 1);
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 16777217);
  assert_true(result.loss_sum[0] == 16777217 && result.mean_loss[0] == 1);
  api_free(ctx);
}

/* 8192 times 11.93 is more than float16 holds; no sum is kept in it, and losses in it are refused. */
static void a_sum_beyond_float16(void **state) {
  (void)state;
  enum { TOKENS = 8192 };
  static int32_t labels[TOKENS];
  static float losses[TOKENS];
  for (int i = 0; i < TOKENS; i++) losses[i] = 11.93f;
  tokavg_context_t *ctx = api_self();
  const tokavg_labels_t all = api_labels(labels, 1, TOKENS);
  OK(ctx, tokavg_count(ctx, &all, NULL));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  float backward = 0;
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss,
                        .kind = TOKAVG_LOSS_TOKEN_LOSSES,
                        .rows = 1,
                        .cols = TOKENS,
                        .losses = api_array(losses, TOKAVG_DTYPE_F32),
                        .labels = &all,
                        .backward_out = &backward};
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(backward == 11.93f);
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_true(result.loss_sum[0] == 8192 * (double)11.93f);
  assert_true(result.mean_loss[0] == (double)11.93f);
  loss.losses.dtype = TOKAVG_DTYPE_F16;
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_ARGUMENT, "dtype");
  api_free(ctx);
}

/* In bfloat16 adding 0.1 has no effect any more at 32. Here the chunks add up to what one sum is, to the bit. */
static void many_chunks(void **state) {
  (void)state;
  enum { CHUNKS = 1024 };
  tokavg_context_t *ctx = api_self();
  for (int i = 0; i < CHUNKS; i++) {
    OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
    (void)ranks_record(ctx, TOKAVG_OPEN, 0.1, 1);
  }
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_true(result.loss_sum[0] == CHUNKS * 0.1);
  assert_true(result.mean_loss[0] == 0.1);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("chai-lab#425", a_count_beside_bf16_losses), FAULT("tt-mlir#8282", a_sum_over_ranks),
      FAULT("Megatron-LM:loss_func", large_counts),      FAULT("marian:StaticLoss", one_more),
      FAULT("torchtitan#2336", a_sum_beyond_float16),    FAULT("Liger-Kernel#1391", many_chunks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
