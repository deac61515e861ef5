/* SPDX-License-Identifier: Apache-2.0 */
/* Factors that are applied twice, not at all, or with the wrong number of ranks in them. */
#include <stdlib.h>
#include <string.h>

#include "faults/ranks.h"

/* Six samples in one microbatch or in two: one loss and one factor. */
static void accumulated_or_not(void **state) {
  (void)state;
  static const int32_t labels[12] = {1, 1, 1, -100, 1, 1, 1, -100, 1, 1, 1, -100};
  static const double losses[12] = {0.1, 0.7, 1.3, 0, 0.9, 0.2, 3.1, 0, 0.4, 2.2, 0.6, 0};
  double mean[2];
  tokavg_context_t *ctx = api_self();
  for (int64_t steps = 1; steps <= 2; steps++) {
    for (int64_t i = 0; i < steps; i++) {
      const int64_t rows = 6 / steps;
      const tokavg_labels_t part = api_labels(&labels[i * rows * 2], rows, 2);
      const tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss,
                                  .kind = TOKAVG_LOSS_TOKEN_LOSSES,
                                  .rows = rows,
                                  .cols = 2,
                                  .losses = api_array(&losses[i * rows * 2], TOKAVG_DTYPE_F64),
                                  .labels = &part};
      OK(ctx, tokavg_count(ctx, &part, NULL));
      OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
    }
    const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_int_equal(result.tokens[0], 9);
    ASSERT_BITS(result.factor[0], 1.0 / 9);
    mean[steps - 1] = result.mean_loss[0];
  }
  ASSERT_BITS(mean[0], mean[1]);
  assert_true(mean[0] > 9.5 / 9 - 1e-15 && mean[0] < 9.5 / 9 + 1e-15);
  api_free(ctx);
}

/* A trainer that never hands its losses over: no mean is called complete, and the steps are counted. */
static void the_count_is_ignored(void **state) {
  (void)state;
  static char text[16384];
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, NULL), TOKAVG_PENDING, "tokavg_flush");
  OK(ctx, tokavg_finalize(ctx));
  assert_int_equal(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK).flags & TOKAVG_RESULT_LOSS_READY, 0);
  OK(ctx, tokavg_describe(ctx, text, (int64_t)sizeof text, NULL));
  const char *member = strstr(text, "\"steps_without_audit\":");
  assert_non_null(member);
  assert_int_equal(strtoll(strchr(member, ':') + 1, NULL, 10), 1);
  api_free(ctx);
}

/* What two ranks with tokens 1 and 3, and gradients 4 and 3 of their sums, hand to the trainer's reduction. */
static double sum_of_scaled(int32_t reduction) {
  tokavg_config_t config = api_config();
  config.gradient_reduction = reduction;
  ranks_t ranks;
  ranks_open(&ranks, 2, &config);
  ranks_count_uneven(&ranks);
  ranks_reduce(&ranks);
  double sum = ranks_record(ranks.ctx[0], ranks.step, 4, 1);
  sum += ranks_record(ranks.ctx[1], ranks.step, 3, 3);
  assert_true(ranks_mean(&ranks) == 1.75);
  ranks_free(&ranks);
  return sum;
}

/* Right in both conventions, and off by the number of ranks where they are mixed: so it must be said, by all alike. */
static void averaged_or_summed(void **state) {
  (void)state;
  assert_true(sum_of_scaled(TOKAVG_GRADIENT_MEAN) / 2 == 1.75);
  assert_true(sum_of_scaled(TOKAVG_GRADIENT_SUM) == 1.75);
  assert_true(sum_of_scaled(TOKAVG_GRADIENT_SUM) / 2 == 0.875); /* what the reports saw */
  tokavg_config_t configs[2] = {api_config(), api_config()};
  tokavg_context_t *ctx = NULL;
  configs[0].gradient_reduction = 0;
  EXPECT(NULL, tokavg_init(&configs[0], &ctx), TOKAVG_ERR_CONFIG, "gradient_reduction");
  configs[0].gradient_reduction = TOKAVG_GRADIENT_SUM;
  api_refuse_ranks(configs, (tokavg_status_t[]){TOKAVG_ERR_CONFIG, TOKAVG_ERR_CONFIG});
  assert_non_null(strstr(api_text(NULL), "gradient_reduction"));
}

/* A value says whether it is a sum or a mean. Equal batches of 2 tokens: 2/4 on sums is 1 on means. */
static void means_and_not_sums(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  for (int32_t r = 0; r < 2; r++) OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, 2, 0, 1));
  ranks_reduce(&ranks);
  assert_true(ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 4).factor[0] == 0.5);
  for (int32_t r = 0; r < 2; r++) {
    const double mean = 3 + r;
    double backward = 0;
    tokavg_loss_t loss = api_value(TOKAVG_LOSS_MEAN, &mean, 2);
    loss.backward_out = &backward;
    OK(ranks.ctx[r], tokavg_loss(ranks.ctx[r], ranks.step, &loss, NULL));
    assert_true(backward == mean);
    loss.kind = 0;
    EXPECT(ranks.ctx[r], tokavg_loss(ranks.ctx[r], TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_ARGUMENT, "kind");
  }
  ranks_free(&ranks);
}

static tokavg_status_t scale_one(tokavg_context_t *ctx, tokavg_ticket_t ticket, double *gradient) {
  const tokavg_scale_item_t item = {.data = gradient, .count = 1, .dtype = TOKAVG_DTYPE_F64};
  const tokavg_scale_t scale = {.struct_size = (uint32_t)sizeof scale,
                                .item_size = (uint32_t)sizeof item,
                                .items = &item,
                                .n_items = 1,
                                .kind = TOKAVG_FACTOR_SCALE};
  return tokavg_scale(ctx, ticket, &scale, NULL);
}

static tokavg_ticket_t one_and_nine_tokens(tokavg_context_t *ctx) {
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
  OK(ctx, tokavg_count_add(ctx, 0, 9, 0, 1));
  return api_reduce(ctx);
}

/* Scaled before backward or after it, and the second is refused. Where nothing was counted nothing else divides. */
static void scaled_once(void **state) {
  (void)state;
  double gradient = 92;
  double value = 90;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 9);
  loss.backward_out = &value;
  tokavg_context_t *ctx = api_self();
  tokavg_ticket_t ticket = one_and_nine_tokens(ctx);
  (void)ranks_record(ctx, ticket, 2, 1);
  EXPECT(ctx, scale_one(ctx, ticket, &gradient), TOKAVG_ERR_STATE, "before backward");
  assert_true(gradient == 92);
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  ticket = one_and_nine_tokens(ctx);
  OK(ctx, scale_one(ctx, ticket, &gradient));
  assert_true(gradient > 9.2 - 1e-14 && gradient < 9.2 + 1e-14);
  EXPECT(ctx, tokavg_loss(ctx, ticket, &loss, NULL), TOKAVG_ERR_STATE, "tokavg_scale");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  api_free(ctx);

  ctx = api_self();
  (void)ranks_record(ctx, TOKAVG_OPEN, 92, 10);
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_EMPTY);
  ASSERT_BITS(result.factor[0], 0.0);
  assert_int_equal(result.flags & TOKAVG_RESULT_AUDIT_FAILED, TOKAVG_RESULT_AUDIT_FAILED);
  assert_int_equal(result.audit_counted, 0);
  assert_int_equal(result.audit_recorded, 10);
  api_free(ctx);
}

/* x = 1 and x = 2 on two ranks with a token each. */
static void the_reduction_is_declared(void **state) {
  (void)state;
  for (int32_t reduction = TOKAVG_GRADIENT_MEAN; reduction <= TOKAVG_GRADIENT_SUM; reduction++) {
    tokavg_config_t config = api_config();
    config.gradient_reduction = reduction;
    ranks_t ranks;
    ranks_open(&ranks, 2, &config);
    for (int32_t r = 0; r < 2; r++) OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, 1, 0, 1));
    ranks_reduce(&ranks);
    double gradient = 0;
    for (int32_t r = 0; r < 2; r++) gradient += ranks_record(ranks.ctx[r], ranks.step, 1 + r, 1);
    if (reduction == TOKAVG_GRADIENT_MEAN) gradient /= 2;
    assert_true(gradient == 1.5);
    ranks_free(&ranks);
  }
}

/* Each token has its own weight, also in the gradient: that of the first does not stand for all. */
static void weights_of_tokens(void **state) {
  (void)state;
  static const int32_t classes[2] = {0, 0};
  static const float weights[2] = {0, 1};
  static const float logits[4] = {0, 0, 0, 0};
  static const float expected[4] = {0, 0, -0.25f, 0.25f}; /* (1/2 - 1) / 2 */
  float gradient[4] = {9, 9, 9, 9};
  tokavg_context_t *ctx = api_self();
  tokavg_labels_t labels = api_labels(classes, 2, 1);
  labels.weights = api_array(weights, TOKAVG_DTYPE_F32);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                                     .logits = api_array(logits, TOKAVG_DTYPE_F32),
                                     .vocab = 2,
                                     .labels = &labels,
                                     .gradient_out = api_array(gradient, TOKAVG_DTYPE_F32)};
  OK(ctx, tokavg_cross_entropy(ctx, api_reduce(ctx), &ce, NULL));
  for (int i = 0; i < 4; i++) assert_true(gradient[i] == expected[i]);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("transformers#35207", accumulated_or_not),  FAULT("transformers#37766", the_count_is_ignored),
      FAULT("torchtitan#2323", averaged_or_summed),     FAULT("OpenNMT-py#2022", averaged_or_summed),
      FAULT("sparseml#135", means_and_not_sums),        FAULT("verl#436", scaled_once),
      FAULT("horovod#2654", the_reduction_is_declared), FAULT("Liger-Kernel#1298", weights_of_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
