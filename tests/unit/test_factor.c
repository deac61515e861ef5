/* SPDX-License-Identifier: Apache-2.0 */
/* The three kinds of factor, what they are made of, and that they are the same bits whatever the caller's rounding. */
#define _GNU_SOURCE /* feenableexcept */
#include "support/unit.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "support/api.h"

static tokavg_ticket_t step_of(tokavg_context_t *ctx, int64_t tokens, int64_t microbatches, double accumulation) {
  OK(ctx, tokavg_count_add(ctx, 0, tokens, 0, microbatches));
  const tokavg_reduce_t options = {(uint32_t)sizeof options, 0, 0, accumulation};
  tokavg_ticket_t ticket = 0;
  OK(ctx, tokavg_reduce(ctx, &options, NULL, &ticket));
  return ticket;
}

static void kinds(void **state) {
  (void)state;
  for (int32_t reduction = TOKAVG_GRADIENT_MEAN; reduction <= TOKAVG_GRADIENT_SUM; reduction++) {
    tokavg_config_t config = api_config();
    config.gradient_reduction = reduction;
    config.gradient_ranks = 6;
    config.microbatch_shards = 2;
    config.accumulation_divisor = 5;
    tokavg_context_t *ctx = api_open(&config);
    const double g = reduction == TOKAVG_GRADIENT_MEAN ? 6 : 1;
    const tokavg_ticket_t ticket = step_of(ctx, 7, 3, 0);
    ASSERT_BITS(api_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE), g * 5 / 7);
    ASSERT_BITS(api_factor(ctx, ticket, 0, TOKAVG_FACTOR_REPORT), 1.0 / 7);
    ASSERT_BITS(api_factor(ctx, ticket, 0, TOKAVG_FACTOR_MICROBATCH), g * 5 * 2 / 3);
    ASSERT_BITS(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK).factor[0], g * 5 / 7);
    api_free(ctx);
  }
}

static void accumulation_per_step(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.accumulation_divisor = 4;
  tokavg_context_t *ctx = api_open(&config);
  const tokavg_ticket_t by_config = step_of(ctx, 3, 1, 0);
  const tokavg_ticket_t by_step = step_of(ctx, 3, 1, 0.5);
  const tokavg_ticket_t again = step_of(ctx, 3, 1, 0);
  ASSERT_BITS(api_factor(ctx, by_config, 0, TOKAVG_FACTOR_SCALE), 4.0 / 3);
  ASSERT_BITS(api_factor(ctx, by_step, 0, TOKAVG_FACTOR_SCALE), 0.5 / 3);
  ASSERT_BITS(api_factor(ctx, again, 0, TOKAVG_FACTOR_SCALE), 4.0 / 3);
  ASSERT_BITS(api_factor(ctx, by_step, 0, TOKAVG_FACTOR_REPORT), 1.0 / 3);
  api_free(ctx);
}

/* Ranks that divide differently would train on different gradients. */
static void accumulation_must_agree(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  const tokavg_ticket_t ticket = step_of(ctx[0], 3, 1, 2);
  (void)step_of(ctx[1], 3, 1, 3);
  for (int r = 0; r < 2; r++) {
    EXPECT(ctx[r], tokavg_wait(ctx[r], ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_DESYNC, "step 1",
           "accumulation_divisor");
    api_free(ctx[r]);
  }
}

static void step_ids(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const tokavg_reduce_t options = {(uint32_t)sizeof options, TOKAVG_REDUCE_STEP_ID, -42, 0};
  tokavg_ticket_t ticket = 0;
  OK(ctx, tokavg_reduce(ctx, &options, NULL, &ticket));
  assert_true(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).step_id == -42);
  const tokavg_reduce_t unset = {(uint32_t)sizeof unset, 0, 17, 0};
  OK(ctx, tokavg_reduce(ctx, &unset, NULL, &ticket));
  assert_true(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).step_id == 0);
  api_free(ctx);
}

struct numbers {
  double factor, backward, sum, weight_sum, mean_loss, loss_sum;
  float gradient[3], written[3];
};

/* Everything that rounds: factors, fixed point, kernels, conversions. */
static struct numbers compute(void) {
  tokavg_config_t config = api_config();
  config.gradient_ranks = 3;
  config.accumulation_divisor = 1.7;
  tokavg_context_t *ctx = api_open(&config);
  const int32_t data[3] = {0, 2, 1};
  const float weights[3] = {0.1f, 1.3f, 0.7f};
  const float losses[3] = {0.123456789f, 3.3333333f, 1e-7f};
  const float logits[9] = {0.1f, 0.2f, 0.3f, -1.7f, 2.9f, 0.01f, 5, 4, -3};
  struct numbers n;
  memset(&n, 0, sizeof n);
  tokavg_labels_t labels = api_labels(data, 1, 3);
  labels.weights = api_array(weights, TOKAVG_DTYPE_F32);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  tokavg_ticket_t ticket = api_reduce(ctx);
  n.factor = api_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE);
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = 1, .cols = 3};
  loss.losses = api_array(losses, TOKAVG_DTYPE_F32);
  loss.labels = &labels;
  loss.sum_out = &n.sum;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  n.mean_loss = result.mean_loss[0];
  n.loss_sum = result.loss_sum[0];
  n.weight_sum = result.weight_sum[0];
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  ticket = api_reduce(ctx);
  float backward = 0;
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = 3, .labels = &labels};
  ce.logits = api_array(logits, TOKAVG_DTYPE_F32);
  ce.losses_out = api_array(n.written, TOKAVG_DTYPE_F32);
  ce.backward_out = &backward;
  OK(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL));
  n.backward = (double)backward;
  memcpy(n.gradient, weights, sizeof weights);
  tokavg_scale_item_t item = {n.gradient, 3, TOKAVG_DTYPE_F32, 0};
  const tokavg_scale_t scale = {
      (uint32_t)sizeof scale, (uint32_t)sizeof item, &item, 1, 0, TOKAVG_FACTOR_REPORT, 1.1, NULL};
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  api_free(ctx);
  return n;
}

static void the_rounding_mode_of_the_caller(void **state) {
  (void)state;
  static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const struct numbers expected = compute();
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(fesetround(modes[i]), 0);
    const struct numbers got = compute();
    const int mode = fegetround();
    fesetround(FE_TONEAREST);
    assert_int_equal(mode, modes[i]);
    assert_memory_equal(&got, &expected, sizeof got);
  }
}

/* Errors leave by another way. */
static void the_rounding_mode_after_an_error(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  fesetround(FE_UPWARD);
  const tokavg_status_t status = tokavg_count(ctx, NULL, NULL);
  const int mode = fegetround();
  fesetround(FE_TONEAREST);
  assert_int_equal(status, TOKAVG_ERR_ARGUMENT);
  assert_int_equal(mode, FE_UPWARD);
  api_free(ctx);
}

/* Programs that trap floating-point exceptions, as Fortran's often do, or look at their flags. */
static void exceptions_are_the_callers(void **state) {
  (void)state;
  const int32_t y[2] = {0, 1};
  const float logits[6] = {900, 1, -900, 2, -INFINITY, 0};
  float gradient[6];
  tokavg_context_t *ctx = api_self();
  const tokavg_labels_t labels = api_labels(y, 1, 2);
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = 3, .labels = &labels};
  ce.logits = api_array(logits, TOKAVG_DTYPE_F32);
  ce.gradient_out = api_array(gradient, TOKAVG_DTYPE_F32);
  for (int cap = 0; cap <= 30; cap += 30) {
    ce.logit_softcap = cap;
    OK(ctx, tokavg_count(ctx, &labels, NULL));
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_INEXACT);
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW);
    const tokavg_status_t status = tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL);
    fedisableexcept(FE_ALL_EXCEPT);
    const int flags = fetestexcept(FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
    assert_int_equal(status, TOKAVG_OK);
    assert_int_equal(flags, FE_INEXACT);
  }
  api_free(ctx);
}

/* Flush to zero, as -ffast-math programs have it. */
static void subnormal_numbers(void **state) {
  (void)state;
#if defined(__SSE2__)
  enum { kFlush = 0x8040 };
  float values[2] = {1, -3};
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  const tokavg_scale_item_t item = {values, 2, TOKAVG_DTYPE_F32, 0};
  const tokavg_scale_t scale = {
      (uint32_t)sizeof scale, (uint32_t)sizeof item, &item, 1, 0, TOKAVG_FACTOR_REPORT, 0x1p-140, NULL};
  const unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | kFlush);
  const tokavg_status_t status = tokavg_scale(ctx, ticket, &scale, NULL);
  const unsigned after = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode);
  assert_int_equal(status, TOKAVG_OK);
  assert_true(values[0] == 0x1p-140f && values[1] == -0x3p-140f);
  assert_int_equal(after & kFlush, kFlush);
  api_free(ctx);
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(subnormal_numbers),
      cmocka_unit_test(exceptions_are_the_callers),
      cmocka_unit_test(kinds),
      cmocka_unit_test(accumulation_per_step),
      cmocka_unit_test(accumulation_must_agree),
      cmocka_unit_test(step_ids),
      cmocka_unit_test(the_rounding_mode_of_the_caller),
      cmocka_unit_test(the_rounding_mode_after_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
