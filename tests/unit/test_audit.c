/* SPDX-License-Identifier: Apache-2.0 */
/* Losses travel as increments, and the tokens in them are compared with the tokens that were counted. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "support/api.h"

static void record(tokavg_context_t *ctx, tokavg_ticket_t ticket, double value, int64_t tokens) {
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, tokens);
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
}

static tokavg_ticket_t step_of(tokavg_context_t *ctx, int64_t tokens) {
  OK(ctx, tokavg_count_add(ctx, 0, tokens, 0, 1));
  return api_reduce(ctx);
}

/* The two numbers and the ticket, told with the newest ticket; the status stays OK. */
static void failed(tokavg_context_t *ctx, tokavg_ticket_t newest, tokavg_ticket_t wrong, int64_t counted,
                   int64_t recorded) {
  const tokavg_result_t result = api_result(ctx, newest, TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_true((result.flags & TOKAVG_RESULT_AUDIT_FAILED) != 0);
  assert_int_equal(result.audit_ticket, wrong);
  assert_int_equal(result.audit_counted, counted);
  assert_int_equal(result.audit_recorded, recorded);
}

static void passed(tokavg_context_t *ctx, tokavg_ticket_t ticket) {
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  assert_true(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, &result) >= 0);
  assert_int_equal(result.flags & TOKAVG_RESULT_AUDIT_FAILED, 0);
  assert_int_equal(result.audit_ticket + result.audit_counted + result.audit_recorded, 0);
}

static int64_t steps_without_audit(tokavg_context_t *ctx) {
  static char text[16384];
  OK(ctx, tokavg_describe(ctx, text, (int64_t)sizeof text, NULL));
  const char *member = strstr(text, "\"steps_without_audit\":");
  assert_non_null(member);
  return strtoll(strchr(member, ':') + 1, NULL, 10);
}

static tokavg_context_t *keeping(int32_t in_flight) {
  tokavg_config_t config = api_config();
  config.in_flight = in_flight;
  return api_open(&config);
}

/* Recorded in parts over as many steps as a ticket lives: each message carries what is new, none twice. */
static void increments(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(4);
  const tokavg_ticket_t ticket = step_of(ctx, 10);
  for (int part = 1; part <= 3; part++) {
    record(ctx, ticket, part, 2);
    assert_int_equal(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK).loss_tokens[0], 2 * (part - 1));
    (void)api_reduce(ctx);
    assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, NULL), TOKAVG_PENDING);
    const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK);
    assert_int_equal(result.loss_tokens[0], 2 * part);
    assert_int_equal(result.flags, 0);
  }
  record(ctx, ticket, 4, 4);
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
  assert_true(result.loss_sum[0] == 10 && result.mean_loss[0] == 1);
  for (int i = 0; i < 6; i++) passed(ctx, api_reduce(ctx));
  api_free(ctx);
}

/* The last chance is the message of the reduce with which the ticket retires. */
static void the_last_increment(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(2);
  const tokavg_ticket_t ticket = step_of(ctx, 3);
  (void)api_reduce(ctx);
  record(ctx, ticket, 1, 3);
  passed(ctx, api_reduce(ctx));
  passed(ctx, api_reduce(ctx));
  assert_int_equal(steps_without_audit(ctx), 0);
  api_free(ctx);
}

static void too_few_at_retirement(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(3);
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  record(ctx, ticket, 1, 4);
  passed(ctx, step_of(ctx, 0));
  passed(ctx, step_of(ctx, 0));
  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
  const tokavg_ticket_t newest = api_reduce(ctx);
  failed(ctx, newest, ticket, 5, 4);
  passed(ctx, api_reduce(ctx)); /* told once */
  api_free(ctx);
}

static void too_few_at_a_flush(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(4);
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  record(ctx, ticket, 1, 4);
  OK(ctx, tokavg_flush(ctx, NULL));
  /* Nothing more is waited for: a loop of flush and wait ends, and the flags say why. */
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, NULL), TOKAVG_OK);
  failed(ctx, ticket, ticket, 5, 4);
  passed(ctx, step_of(ctx, 1));
  api_free(ctx);
}

static void too_few_at_finalize(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(4);
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  record(ctx, ticket, 1, 4);
  const tokavg_ticket_t newest = step_of(ctx, 2);
  record(ctx, newest, 1, 2);
  OK(ctx, tokavg_finalize(ctx));
  failed(ctx, newest, ticket, 5, 4);
  api_free(ctx);
}

static void too_many_at_once(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(4);
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  record(ctx, ticket, 1, 5);
  record(ctx, ticket, 1, 1);
  const tokavg_ticket_t newest = step_of(ctx, 2);
  failed(ctx, newest, ticket, 5, 6);
  passed(ctx, step_of(ctx, 2));
  api_free(ctx);
}

static void any_term(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.terms = 2;
  tokavg_context_t *ctx = api_open(&config);
  OK(ctx, tokavg_count_add(ctx, 1, 6, 0, 1));
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  record(ctx, ticket, 1, 5);
  const double value = 1;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 7);
  loss.term = 1;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  failed(ctx, step_of(ctx, 2), ticket, 6, 7);
  api_free(ctx);
}

/* Trainers that only scale gradients need not record any loss. */
static void none_recorded(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(2);
  for (int i = 0; i < 5; i++) passed(ctx, step_of(ctx, 5));
  OK(ctx, tokavg_flush(ctx, NULL));
  passed(ctx, 5);
  assert_int_equal(steps_without_audit(ctx), 3); /* 1 to 3 have retired */
  OK(ctx, tokavg_finalize(ctx));
  assert_int_equal(api_result(ctx, 5, TOKAVG_WAIT_COUNT, TOKAVG_OK).flags, 0);
  assert_int_equal(steps_without_audit(ctx), 5);
  api_free(ctx);
}

static void empty_steps_need_none(void **state) {
  (void)state;
  tokavg_context_t *ctx = keeping(2);
  for (int i = 0; i < 5; i++) passed(ctx, api_reduce(ctx));
  OK(ctx, tokavg_finalize(ctx));
  assert_int_equal(steps_without_audit(ctx), 0);
  api_free(ctx);
}

/* The losses of both ranks are needed, and a flush brings them. */
static void two_ranks(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  OK(ctx[0], tokavg_count_add(ctx[0], 0, 1, 0, 1));
  OK(ctx[1], tokavg_count_add(ctx[1], 0, 3, 0, 1));
  record(ctx[0], TOKAVG_OPEN, 4, 1);
  const tokavg_ticket_t ticket = api_reduce(ctx[0]);
  (void)api_reduce(ctx[1]);
  for (int r = 0; r < 2; r++) {
    EXPECT(ctx[r], tokavg_wait(ctx[r], ticket, TOKAVG_WAIT_LOSS, -1, NULL), TOKAVG_PENDING, "tokavg_flush");
  }
  record(ctx[1], ticket, 3, 3);
  for (int r = 0; r < 2; r++) OK(ctx[r], tokavg_flush(ctx[r], NULL));
  for (int r = 0; r < 2; r++) {
    const tokavg_result_t result = api_result(ctx[r], ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_true(result.mean_loss[0] == 1.75 && result.factor[0] == 0.5);
    assert_int_equal(result.local_tokens[0], r == 0 ? 1 : 3);
    api_free(ctx[r]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(increments),
      cmocka_unit_test(the_last_increment),
      cmocka_unit_test(too_few_at_retirement),
      cmocka_unit_test(too_few_at_a_flush),
      cmocka_unit_test(too_few_at_finalize),
      cmocka_unit_test(too_many_at_once),
      cmocka_unit_test(any_term),
      cmocka_unit_test(none_recorded),
      cmocka_unit_test(empty_steps_need_none),
      cmocka_unit_test(two_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
