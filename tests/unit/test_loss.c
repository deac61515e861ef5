/* SPDX-License-Identifier: Apache-2.0 */
/* Recording losses: the three kinds, what goes back to the caller, and values that are no numbers. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/api.h"

static const uint64_t quiet_nan = 0x7ff8000000000000u;
static const int32_t three_of_four[4] = {1, 2, -100, 3};

static tokavg_loss_t per_token(const float *losses, const tokavg_labels_t *labels) {
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = 2, .cols = 2};
  loss.losses = api_array(losses, TOKAVG_DTYPE_F32);
  loss.labels = labels;
  return loss;
}

static void token_losses(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const float losses[4] = {1, 2, NAN, 4}; /* the third is not scored and never read */
  const double weights[4] = {0.5, 1, NAN, 2};
  tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 0));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  double sum = 0;
  tokavg_loss_t loss = per_token(losses, &labels);
  loss.sum_out = &sum;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(sum == 7);
  labels.weights = api_array(weights, TOKAVG_DTYPE_F64);
  labels.shift = 1;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL)); /* tokens 1 and 3, weighted */
  assert_true(sum == 10);
  loss.labels = NULL; /* every element counts with weight 1 */
  loss.rows = 1;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(sum == 3);
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.loss_tokens[0], 7);
  assert_true(result.loss_sum[0] == 20 && result.mean_loss[0] == 20.0 / 7);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
  api_free(ctx);
}

static void sums_and_means(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const double values[2] = {6.5, 1.1};
  OK(ctx, tokavg_count_add(ctx, 0, 10, 0, 2));
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &values[0], 3);
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  double sum = 0;
  loss = api_value(TOKAVG_LOSS_MEAN, &values[1], 7);
  loss.sum_out = &sum;
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  ASSERT_BITS(sum, 1.1 * 7);
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  ASSERT_BITS(result.loss_sum[0], 6.5 + 1.1 * 7);
  ASSERT_BITS(result.mean_loss[0], (6.5 + 1.1 * 7) / 10);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
  api_free(ctx);
}

static void tokens_not_said(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const double value = 2;
  OK(ctx, tokavg_count_add(ctx, 0, 10, 0, 1));
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_MEAN, &value, -1); /* 10 tokens */
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  double sum = 0;
  loss.sum_out = &sum; /* those counted here and not yet recorded: 4 */
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  assert_true(sum == 8);
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY | TOKAVG_RESULT_UNAUDITED);
  assert_true(result.mean_loss[0] == 2);
  OK(ctx, tokavg_count_add(ctx, 0, 9, 0, 1)); /* on a ticket likewise: 3, then the other 6, then none */
  const tokavg_ticket_t ticket = api_reduce(ctx);
  loss.tokens = 3;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  loss.tokens = -1;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(sum == 12);
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(sum == 0);
  api_free(ctx);
}

/* A rank without tokens hands over whatever its framework computed, 0 / 0 above all. */
static void zero_tokens_are_not_read(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const double nan = NAN;
  double out[2] = {7, 7};
  OK(ctx, tokavg_count_add(ctx, 0, 0, 0, 1));
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_MEAN, &nan, 0);
  loss.backward_out = &out[0];
  loss.sum_out = &out[1];
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  assert_true(out[0] == 0 && out[1] == 0);
  loss.tokens = -1; /* none is left to record */
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  loss = api_value(TOKAVG_LOSS_SUM, NULL, 0);
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_EMPTY);
  assert_int_equal(result.nonfinite[0], 0);
  ASSERT_BITS(result.mean_loss[0], 0.0);
  api_free(ctx);
}

static void means_and_weights(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.divisor = TOKAVG_DIVISOR_WEIGHTS;
  tokavg_context_t *ctx = api_open(&config);
  const double value = 2;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_MEAN, &value, 4);
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_ARGUMENT, "TOKAVG_LOSS_MEAN", "TOKAVG_LOSS_SUM");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_ARGUMENT);
  OK(ctx, tokavg_count_add(ctx, 0, 4, 2.5, 1));
  loss.kind = TOKAVG_LOSS_SUM;
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_true(result.mean_loss[0] == 2 / 2.5 && result.factor[0] == 1 / 2.5);
  api_free(ctx);
}

static void what_goes_back(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.gradient_ranks = 3;
  tokavg_context_t *ctx = api_open(&config);
  OK(ctx, tokavg_count_add(ctx, 0, 8, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  const float losses[4] = {1, 2, 3, 4};
  float small = 0;
  double large = 0;
  tokavg_loss_t loss = per_token(losses, NULL);
  loss.backward_out = &small; /* the losses' type */
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(small == 10.0f * 3 / 8);
  loss.loss_scale = 1024;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(small == 1024 * 10.0f * 3 / 8);
  const double value = 5;
  double sum = 0;
  tokavg_loss_t one = api_value(TOKAVG_LOSS_SUM, &value, 0);
  one.tokens = 1;
  one.loss_scale = -2;
  one.backward_out = &large;
  one.sum_out = &sum;
  OK(ctx, tokavg_loss(ctx, ticket, &one, NULL));
  assert_true(large == -2 * 5 * 3.0 / 8);
  assert_true(sum == 5); /* loss_scale is for backward alone */
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &one, NULL));
  assert_true(large == -10); /* the factor of the open step is 1 */
  api_free(ctx);
}

static void no_numbers(void **state) {
  (void)state;
  static const float bad[] = {NAN, INFINITY, -INFINITY, 0x1p22f, -0x1p22f};
  tokavg_context_t *ctx = api_self();
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const float losses[4] = {1, bad[i], 3, 4};
    double sum = 0;
    float backward = 0;
    OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
    tokavg_loss_t loss = per_token(losses, NULL);
    loss.sum_out = &sum;
    loss.backward_out = &backward;
    OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
    assert_true(isnan(sum) && isnan(backward));
    const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_int_equal(api_bits(result.mean_loss[0]), quiet_nan);
    assert_int_equal(api_bits(result.loss_sum[0]), quiet_nan);
    assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY | TOKAVG_RESULT_NONFINITE);
    assert_int_equal(result.nonfinite[0], 1);
    assert_int_equal(result.loss_tokens[0], 4); /* its token counts all the same */
    assert_true(result.factor[0] == 0.25);
  }
  api_free(ctx);
}

static void zero_wins_over_nan(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const tokavg_ticket_t ticket = api_reduce(ctx);
  const float losses[4] = {NAN, 1, 2, 3};
  float backward = 7;
  float gradients[2] = {NAN, INFINITY};
  tokavg_loss_t loss = per_token(losses, NULL);
  loss.backward_out = &backward;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(backward == 0 && !signbit(backward));
  OK(ctx, tokavg_flush(ctx, NULL));
  ASSERT_BITS(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).mean_loss[0], 0.0);
  tokavg_scale_item_t item = {gradients, 2, TOKAVG_DTYPE_F32, 0};
  const tokavg_scale_t scale = {
      (uint32_t)sizeof scale, (uint32_t)sizeof item, &item, 1, 0, TOKAVG_FACTOR_REPORT, 0, NULL};
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  assert_true(gradients[0] == 0 && gradients[1] == 0);
  api_free(ctx);
}

/* One value that is a sum already may be larger than one token's loss. */
static void sums_to_2_54(void **state) {
  (void)state;
  static const double good[] = {0x1p22, -0x1p22, 0x1p54, -0x1p54, 0x1.fffffffffffffp53};
  static const double bad[] = {0x1.0000000000001p54, -0x1.0000000000001p54, INFINITY, NAN};
  tokavg_context_t *ctx = api_self();
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
    const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &good[i], 1);
    OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
    ASSERT_BITS(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK).loss_sum[0], good[i]);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
    const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &bad[i], 1);
    OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
    const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_int_equal(api_bits(result.loss_sum[0]), quiet_nan);
    assert_int_equal(result.nonfinite[0], 1);
  }
  /* Two good ones whose sum has no room: not finite, never a wrap. */
  const double two[2] = {0x1p54, 0x1p54};
  OK(ctx, tokavg_count_add(ctx, 0, 2, 0, 1));
  for (int i = 0; i < 2; i++) {
    const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &two[i], 1);
    OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  }
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(api_bits(result.mean_loss[0]), quiet_nan);
  assert_true((result.flags & TOKAVG_RESULT_NONFINITE) != 0);
  api_free(ctx);
}

static void a_bad_weight(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const float losses[4] = {1, 2, 3, 4};
  const float weights[4] = {1, INFINITY, 1, 1};
  double out[2];
  memset(out, 0x5a, sizeof out);
  tokavg_labels_t labels = api_labels(three_of_four, 2, 2);
  labels.weights = api_array(weights, TOKAVG_DTYPE_F32);
  tokavg_loss_t loss = per_token(losses, &labels);
  loss.backward_out = &out[0];
  loss.sum_out = &out[1];
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_WEIGHT, "row 0, column 1", "inf");
  api_untouched(out, 0x5a, sizeof out);
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_WEIGHT);
  api_still_works(ctx);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(token_losses),      cmocka_unit_test(sums_and_means),
      cmocka_unit_test(tokens_not_said),   cmocka_unit_test(zero_tokens_are_not_read),
      cmocka_unit_test(means_and_weights), cmocka_unit_test(what_goes_back),
      cmocka_unit_test(no_numbers),        cmocka_unit_test(zero_wins_over_nan),
      cmocka_unit_test(sums_to_2_54),      cmocka_unit_test(a_bad_weight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
