/* SPDX-License-Identifier: Apache-2.0 */
/* Which tickets can be used how long, what tokavg_wait answers, and that a factor is applied once. */
#include "support/unit.h"

#include <string.h>

#include "support/api.h"
#include "support/slow_table.h"

/* Every call that takes a ticket. */
static void refused(tokavg_context_t *ctx, tokavg_ticket_t ticket, tokavg_status_t status, const char *word) {
  double factor = -7;
  const double value = 1;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1);
  const tokavg_scale_t scale = {.struct_size = (uint32_t)sizeof scale, .kind = TOKAVG_FACTOR_SCALE};
  tokavg_result_t result;
  memset(&result, 0x5a, sizeof result);
  result.struct_size = (uint32_t)sizeof result;
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, &result), status, "ticket", word);
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, 0, &result), status, "ticket", word);
  api_untouched(&result.flags, 0x5a, sizeof result - sizeof result.struct_size);
  EXPECT(ctx, tokavg_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE, &factor), status, "ticket", word);
  assert_true(factor == -7);
  EXPECT(ctx, tokavg_release(ctx, ticket), status, "ticket", word);
  EXPECT(ctx, tokavg_scale(ctx, ticket, &scale, NULL), status, "ticket", word);
  if (ticket != TOKAVG_OPEN) EXPECT(ctx, tokavg_loss(ctx, ticket, &loss, NULL), status, "ticket", word);
}

static void tickets_that_are_none(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  static const tokavg_ticket_t none[] = {0, TOKAVG_OPEN, -2, 2, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    refused(ctx, none[i], TOKAVG_ERR_ARGUMENT, "tokavg_reduce");
    /* scale and loss marked the step. */
    (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_ARGUMENT);
    if (i == 2) i++; /* by now 2 is a ticket */
  }
  api_still_works(ctx);
  api_free(ctx);
}

static void tickets_are_numbered(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  for (tokavg_ticket_t t = 1; t <= 20; t++) assert_int_equal(api_reduce(ctx), t);
  api_free(ctx);
}

/* Kept for in_flight reduces. Statuses that came from a ticket never mark the open step. */
static void tickets_grow_stale(void **state) {
  (void)state;
  for (int32_t in_flight = 2; in_flight <= 16; in_flight += 7) {
    tokavg_config_t config = api_config();
    config.in_flight = in_flight;
    tokavg_context_t *ctx = api_open(&config);
    OK(ctx, tokavg_count_add(ctx, 0, 5, 0, 1));
    const tokavg_ticket_t first = api_reduce(ctx);
    for (int i = 1; i < in_flight; i++) {
      (void)api_reduce(ctx);
      assert_int_equal(api_result(ctx, first, TOKAVG_WAIT_COUNT, TOKAVG_OK).tokens[0], 5);
    }
    (void)api_reduce(ctx);
    refused(ctx, first, TOKAVG_ERR_STALE, "in_flight");
    assert_int_equal(api_result(ctx, first + 1, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).ticket, first + 1);
    api_still_works(ctx);
    api_free(ctx);
  }
}

static void tickets_are_released(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 5, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  OK(ctx, tokavg_release(ctx, ticket));
  refused(ctx, ticket, TOKAVG_ERR_STALE, "was released");
  api_still_works(ctx);
  api_free(ctx);
}

static void an_empty_step(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.terms = 2;
  tokavg_context_t *ctx = api_open(&config);
  tokavg_ticket_t ticket = api_reduce(ctx);
  tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_EMPTY);
  assert_int_equal(result.empty_ranks, 1);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
  ASSERT_BITS(result.mean_loss[0], 0.0);
  for (int32_t kind = TOKAVG_FACTOR_SCALE; kind <= TOKAVG_FACTOR_MICROBATCH; kind++) {
    ASSERT_BITS(api_factor(ctx, ticket, 1, kind), 0.0);
  }
  /* Microbatches without a scored token divide batch-level terms all the same. */
  const int32_t ignored[2] = {-100, -100};
  const tokavg_labels_t labels = api_labels(ignored, 1, 2);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  ticket = api_reduce(ctx);
  result = api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY);
  assert_int_equal(result.microbatches, 1);
  assert_true(api_factor(ctx, ticket, 0, TOKAVG_FACTOR_MICROBATCH) == 1);
  /* One term is enough for a step not to be empty. */
  OK(ctx, tokavg_count_add(ctx, 1, 1, 0, 1));
  result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.empty_ranks, 0);
  assert_true(result.factor[0] == 0 && result.factor[1] == 1);
  api_free(ctx);
}

static void weights_of_zero_are_empty(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.divisor = TOKAVG_DIVISOR_WEIGHTS;
  tokavg_context_t *ctx = api_open(&config);
  const int32_t data[2] = {1, 2};
  const double zero[2] = {0, 0};
  tokavg_labels_t labels = api_labels(data, 1, 2);
  labels.weights = api_array(zero, TOKAVG_DTYPE_F64);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_EMPTY);
  assert_int_equal(result.tokens[0], 2);
  assert_int_equal(result.empty_ranks, 0); /* the rank has tokens */
  ASSERT_BITS(result.factor[0], 0.0);
  api_free(ctx);
}

static void pending(void **state) {
  (void)state;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, NULL);
  OK(ctx, tokavg_count_add(ctx, 0, 5, 0, 1));
  slow.polls = SLOW_NEVER;
  const tokavg_ticket_t ticket = api_reduce(ctx);
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 0, &result), TOKAVG_PENDING, "step 1", "not complete");
  assert_int_equal(result.ticket, ticket);
  assert_int_equal(result.local_tokens[0], 5);
  assert_int_equal(result.tokens[0], 0);
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, 20, &result), TOKAVG_PENDING, "step 1");
  assert_true(result.exposed_seconds >= 0.02);
  slow.polls = 0;
  assert_int_equal(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK).tokens[0], 5);
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, NULL), TOKAVG_PENDING, "losses of step 1", "tokavg_flush");
  api_free(ctx);
}

/* So long a wait must not wrap around to none at all. */
static void a_very_long_wait(void **state) {
  (void)state;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, NULL);
  slow.polls = 500;
  const tokavg_ticket_t ticket = api_reduce(ctx);
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, INT64_MAX, NULL), TOKAVG_EMPTY);
  api_free(ctx);
}

static void a_step_is_waited_for_in_a_full_ring(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.in_flight = 2;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, &config);
  slow.polls = 50;
  for (int i = 0; i < 10; i++) (void)api_reduce(ctx);
  assert_int_equal(api_result(ctx, 9, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).ticket, 9);
  assert_true(slow.most_in_flight <= 2);
  api_free(ctx);
}

static void before_backward_and_not_after(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  const double value = 8;
  double backward = 0;
  double gradient = 3;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 4);
  tokavg_scale_item_t item = {&gradient, 1, TOKAVG_DTYPE_F64, 0};
  tokavg_scale_t scale = {(uint32_t)sizeof scale, (uint32_t)sizeof item, &item, 1, 0, TOKAVG_FACTOR_SCALE, 0, NULL};
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL)); /* recorded, but nothing was scaled */
  loss.backward_out = &backward;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(backward == 2);
  EXPECT(ctx, tokavg_scale(ctx, ticket, &scale, NULL), TOKAVG_ERR_STATE, "ticket 1", "scaled before backward",
         "TOKAVG_OPEN");
  assert_true(gradient == 3);
  scale.kind = TOKAVG_FACTOR_MICROBATCH; /* batch-level terms are another matter */
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  api_still_works(ctx);
  api_free(ctx);
}

static void after_backward_and_not_before(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const double value = 8;
  double backward = 7;
  double gradients[2] = {8, 12};
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 4);
  loss.backward_out = &backward;
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL)); /* factor 1 */
  assert_true(backward == 8);
  const tokavg_ticket_t ticket = api_reduce(ctx);
  tokavg_scale_item_t item = {&gradients[0], 1, TOKAVG_DTYPE_F64, 0};
  const tokavg_scale_t scale = {
      (uint32_t)sizeof scale, (uint32_t)sizeof item, &item, 1, 0, TOKAVG_FACTOR_SCALE, 0, NULL};
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  item.data = &gradients[1]; /* gradients may come in several calls */
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  assert_true(gradients[0] == 2 && gradients[1] == 3);
  backward = 7;
  EXPECT(ctx, tokavg_loss(ctx, ticket, &loss, NULL), TOKAVG_ERR_STATE, "ticket 1", "tokavg_scale");
  assert_true(backward == 7);
  loss.backward_out = NULL; /* only recording does not apply the factor */
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_STATE);
  api_still_works(ctx);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tickets_that_are_none),
      cmocka_unit_test(tickets_are_numbered),
      cmocka_unit_test(tickets_grow_stale),
      cmocka_unit_test(tickets_are_released),
      cmocka_unit_test(an_empty_step),
      cmocka_unit_test(weights_of_zero_are_empty),
      cmocka_unit_test(pending),
      cmocka_unit_test(a_very_long_wait),
      cmocka_unit_test(a_step_is_waited_for_in_a_full_ring),
      cmocka_unit_test(before_backward_and_not_after),
      cmocka_unit_test(after_backward_and_not_before),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
