/* SPDX-License-Identifier: Apache-2.0 */
/* What the open step holds: counting, discarding, ranks that only ask, ranks that are done. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/api.h"

static const int32_t three_of_four[4] = {1, 2, -100, 3};

static void count(tokavg_context_t *ctx, int32_t term, uint32_t flags) {
  tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  labels.term = term;
  labels.flags = flags;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
}

static void sum(tokavg_context_t *ctx, int32_t term, double value, int64_t tokens) {
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, tokens);
  loss.term = term;
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
}

static tokavg_context_t *open_terms(int32_t terms) {
  tokavg_config_t config = api_config();
  config.terms = terms;
  return api_open(&config);
}

static void discard_takes_everything_back(void **state) {
  (void)state;
  tokavg_context_t *ctx = open_terms(2);
  count(ctx, 0, 0);
  sum(ctx, 0, 6, 3);
  count(ctx, 0, 0);
  count(ctx, 1, TOKAVG_LABELS_SAME_MICROBATCH);
  OK(ctx, tokavg_count_add(ctx, 1, 4, 10, 0));
  sum(ctx, 0, NAN, 3);
  sum(ctx, 1, 1e300, 7);
  OK(ctx, tokavg_discard(ctx));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 3);
  assert_int_equal(result.tokens[1], 0);
  assert_int_equal(result.microbatches, 1);
  assert_int_equal(result.nonfinite[0] + result.nonfinite[1], 0);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
  assert_true(result.weight_sum[1] == 0);
  assert_true(result.mean_loss[0] == 2.0);
  ASSERT_BITS(result.mean_loss[1], 0.0);
  api_free(ctx);
}

static void discard_needs_a_microbatch(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  EXPECT(ctx, tokavg_discard(ctx), TOKAVG_ERR_STATE, "no microbatch", "none was begun", "tokavg_reduce");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  count(ctx, 0, 0);
  count(ctx, 0, 0);
  OK(ctx, tokavg_discard(ctx));
  EXPECT(ctx, tokavg_discard(ctx), TOKAVG_ERR_STATE, "no microbatch");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  count(ctx, 0, 0);
  (void)api_reduce(ctx);
  EXPECT(ctx, tokavg_discard(ctx), TOKAVG_ERR_STATE, "no microbatch");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  /* Not twice in a row, but again after another microbatch. */
  count(ctx, 0, 0);
  OK(ctx, tokavg_discard(ctx));
  count(ctx, 0, 0);
  OK(ctx, tokavg_discard(ctx));
  count(ctx, 0, 0);
  assert_int_equal(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).microbatches, 1);
  api_free(ctx);
}

static void the_same_microbatch(void **state) {
  (void)state;
  tokavg_context_t *ctx = open_terms(2);
  tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  labels.flags = TOKAVG_LABELS_SAME_MICROBATCH;
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_STATE, "labels.flags", "SAME_MICROBATCH",
         "without the flag");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  count(ctx, 0, 0);
  (void)api_reduce(ctx); /* a microbatch does not reach into the next step */
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_STATE, "SAME_MICROBATCH");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  count(ctx, 0, 0);
  count(ctx, 0, TOKAVG_LABELS_SAME_MICROBATCH);
  count(ctx, 1, TOKAVG_LABELS_SAME_MICROBATCH);
  OK(ctx, tokavg_count_add(ctx, 0, 5, 0, 1));
  count(ctx, 0, TOKAVG_LABELS_SAME_MICROBATCH); /* one begun by count_add will do */
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 14);
  assert_int_equal(result.tokens[1], 3);
  assert_int_equal(result.microbatches, 2);
  api_free(ctx);
}

static void known_counts(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 10, 0, 3));
  OK(ctx, tokavg_count_add(ctx, 0, 2, -1.25, 0));
  OK(ctx, tokavg_count_add(ctx, 0, 0, 0, 4));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 12);
  assert_int_equal(result.local_tokens[0], 12);
  assert_int_equal(result.microbatches, 7);
  assert_true(result.weight_sum[0] == 8.75); /* tokens without a weight weigh 1 */
  assert_true(result.factor[0] == 1.0 / 12);
  api_free(ctx);
}

static void weights_of_known_counts(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY, -INFINITY, 0x1.0000000000001p54, -0x1.0000000000001p54};
  tokavg_config_t config = api_config();
  for (int divide = 0; divide < 2; divide++) {
    config.divisor = divide ? TOKAVG_DIVISOR_WEIGHTS : TOKAVG_DIVISOR_TOKENS;
    tokavg_context_t *ctx = api_open(&config);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
      EXPECT(ctx, tokavg_count_add(ctx, 0, 1, bad[i], 1), TOKAVG_ERR_WEIGHT, "weight_sum is", "2^54");
      (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_WEIGHT);
    }
    OK(ctx, tokavg_count_add(ctx, 0, 1, 0x1p54, 1));
    assert_true(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).weight_sum[0] == 0x1p54);
    const tokavg_status_t negative = tokavg_count_add(ctx, 0, 1, -0.5, 1);
    if (divide) {
      EXPECT(ctx, negative, TOKAVG_ERR_WEIGHT, "weight_sum is -0.5", "not negative");
    } else {
      OK(ctx, negative);
    }
    (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, negative);
    api_still_works(ctx);
    api_free(ctx);
  }
}

static void tokens_reach_2_63(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, INT64_MAX, 0, 1));
  tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_true(result.tokens[0] == INT64_MAX);
  assert_true(result.weight_sum[0] == 0x1p63 && result.factor[0] == 0x1p-63);
  OK(ctx, tokavg_count_add(ctx, 0, INT64_MAX, 0, 1));
  EXPECT(ctx, tokavg_count_add(ctx, 0, 1, 0, 1), TOKAVG_ERR_OVERFLOW, "term 0", "9223372036854775807", "2^63");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_OVERFLOW);
  api_still_works(ctx);
  api_free(ctx);
}

static void tokens_of_two_ranks_reach_2_63(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  for (int extra = 0; extra < 2; extra++) {
    tokavg_ticket_t ticket[2];
    OK(ctx[0], tokavg_count_add(ctx[0], 0, INT64_C(1) << 62, 0, 1));
    OK(ctx[1], tokavg_count_add(ctx[1], 0, (INT64_C(1) << 62) - 1 + extra, 0, 1));
    for (int r = 0; r < 2; r++) ticket[r] = api_reduce(ctx[r]);
    for (int r = 0; r < 2; r++) {
      const tokavg_result_t result =
          api_result(ctx[r], ticket[r], TOKAVG_WAIT_COUNT, extra ? TOKAVG_ERR_OVERFLOW : TOKAVG_OK);
      if (!extra) assert_true(result.tokens[0] == INT64_MAX);
      if (extra) assert_non_null(strstr(api_text(ctx[r]), "2^63"));
    }
  }
  for (int r = 0; r < 2; r++) api_free(ctx[r]);
}

static void microbatches_reach_2_32(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, UINT32_MAX));
  assert_true(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).microbatches == UINT32_MAX);
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, UINT32_MAX));
  const tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_OVERFLOW, "4294967295 microbatches", "2^32");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_OVERFLOW);
  api_still_works(ctx);
  api_free(ctx);
}

/* The limits of each part allow it, their sum does not: wrong on every rank, never a wrap. */
static void weights_reach_2_55(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0x1p54, 1));
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0x1p54, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_OVERFLOW, "weights", "2^55");
  api_still_works(ctx);
  api_free(ctx);
}

static void bad_weights_of_labels(void **state) {
  (void)state;
  float weights[4] = {1, 2, NAN, 3}; /* the third is not scored, so it may be anything */
  tokavg_context_t *ctx = api_self();
  tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  labels.weights = api_array(weights, TOKAVG_DTYPE_F32);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  assert_true(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).weight_sum[0] == 6);
  weights[3] = 0x1p22f;
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_WEIGHT, "row 1, column 1", "4194304", "2^22");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_WEIGHT);
  weights[3] = NAN;
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_WEIGHT, "row 1, column 1", "nan");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_WEIGHT);
  api_still_works(ctx);
  api_free(ctx);
}

static void a_rank_that_only_asks(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  tokavg_context_t *ctx = NULL;
  config.asks_only = 1;
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_CONFIG, "config.asks_only is 1 on all ranks");
  assert_null(ctx);
  tokavg_context_t *two[2];
  api_open_ranks((tokavg_config_t[]){api_config(), config}, two);
  const tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  count(two[0], 0, 0);
  tokavg_ticket_t ticket = api_reduce(two[0]);
  (void)api_reduce(two[1]);
  const tokavg_result_t result = api_result(two[1], ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 3);
  assert_int_equal(result.local_tokens[0], 0);
  assert_int_equal(result.ranks, 2);
  assert_int_equal(result.label_ranks, 1);
  assert_int_equal(result.empty_ranks, 0);
  assert_true(result.factor[0] == 1.0 / 3); /* G is the ranks that hold labels */
  EXPECT(two[1], tokavg_count(two[1], &labels, NULL), TOKAVG_ERR_STATE, "config.asks_only = 1");
  ticket = api_reduce(two[0]);
  (void)api_reduce(two[1]);
  (void)api_result(two[1], ticket, TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  EXPECT(two[0], tokavg_wait(two[0], ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_PEER, "rank 1");
  for (int r = 0; r < 2; r++) api_free(two[r]);
}

static void done_ranks_do_not_count(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  count(ctx, 0, 0);
  const tokavg_reduce_t done = {.struct_size = (uint32_t)sizeof done, .flags = TOKAVG_REDUCE_DONE};
  tokavg_ticket_t ticket = 0;
  OK(ctx, tokavg_reduce(ctx, &done, NULL, &ticket));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.done_ranks, 1);
  assert_int_equal(result.label_ranks, 1);
  const tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_STATE, "TOKAVG_REDUCE_DONE");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  EXPECT(ctx, tokavg_count_add(ctx, 0, 1, 0, 1), TOKAVG_ERR_STATE, "TOKAVG_REDUCE_DONE");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  const double value = 1;
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1);
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_STATE, "TOKAVG_REDUCE_DONE");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  /* It still takes part, and losses of steps before are still welcome. */
  const tokavg_loss_t earlier = api_value(TOKAVG_LOSS_SUM, &value, 3);
  OK(ctx, tokavg_loss(ctx, ticket, &earlier, NULL));
  assert_int_equal(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).done_ranks, 1);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(discard_takes_everything_back),
      cmocka_unit_test(discard_needs_a_microbatch),
      cmocka_unit_test(the_same_microbatch),
      cmocka_unit_test(known_counts),
      cmocka_unit_test(weights_of_known_counts),
      cmocka_unit_test(tokens_reach_2_63),
      cmocka_unit_test(tokens_of_two_ranks_reach_2_63),
      cmocka_unit_test(microbatches_reach_2_32),
      cmocka_unit_test(weights_reach_2_55),
      cmocka_unit_test(bad_weights_of_labels),
      cmocka_unit_test(a_rank_that_only_asks),
      cmocka_unit_test(done_ranks_do_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
