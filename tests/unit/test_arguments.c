/* SPDX-License-Identifier: Apache-2.0 */
/* NULL for each pointer: status, a text with a remedy, nothing written, nothing broken. tests/abi/test_struct_sizes.c
   has the sizes of structs. */
#include "support/unit.h"

#include <string.h>

#include "support/api.h"

/* The open step was marked by a failed call: its ticket says so, the step after it is fine. */
static void marked(tokavg_context_t *ctx, tokavg_status_t status) {
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, status);
  api_still_works(ctx);
}

static void null_structs(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const tokavg_ticket_t ticket = api_reduce(ctx);
  EXPECT(ctx, tokavg_count(ctx, NULL, NULL), TOKAVG_ERR_ARGUMENT, "labels is NULL", "address");
  marked(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, NULL, NULL), TOKAVG_ERR_ARGUMENT, "loss is NULL", "address");
  marked(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, NULL, NULL), TOKAVG_ERR_ARGUMENT, "ce is NULL", "address");
  marked(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_scale(ctx, ticket, NULL, NULL), TOKAVG_ERR_ARGUMENT, "scale is NULL", "address");
  marked(ctx, TOKAVG_ERR_ARGUMENT);
  api_free(ctx);
}

static void null_outputs(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 2, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  EXPECT(ctx, tokavg_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE, NULL), TOKAVG_ERR_ARGUMENT, "factor_out is NULL",
         "address");
  EXPECT(ctx, tokavg_factor_device(ctx, ticket, 0, TOKAVG_FACTOR_SCALE, NULL, NULL), TOKAVG_ERR_ARGUMENT,
         "factor_out is NULL", "address");
  /* Queries do not mark the open step. */
  api_still_works(ctx);
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_OK);
  /* The other ranks wait for this one: the step is closed as failed although nobody gets its ticket. */
  EXPECT(ctx, tokavg_reduce(ctx, NULL, NULL, NULL), TOKAVG_ERR_ARGUMENT, "ticket_out is NULL", "address");
  EXPECT(ctx, tokavg_wait(ctx, ticket + 2, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_ARGUMENT, "ticket_out is NULL");
  api_still_works(ctx);
  api_free(ctx);
}

static void null_without_a_context(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  EXPECT(NULL, tokavg_config_init(NULL, (uint32_t)sizeof config), TOKAVG_ERR_ARGUMENT, "config is NULL", "address");
  tokavg_context_t *ctx = (tokavg_context_t *)(uintptr_t)0x5a5a;
  EXPECT(NULL, tokavg_init(NULL, &ctx), TOKAVG_ERR_ARGUMENT, "config is NULL", "address");
  assert_int_equal((uintptr_t)ctx, 0x5a5a);
  EXPECT(NULL, tokavg_init(&config, NULL), TOKAVG_ERR_ARGUMENT, "ctx_out is NULL", "address");
  EXPECT(NULL, tokavg_threads_create(2, NULL), TOKAVG_ERR_ARGUMENT, "group_out is NULL", "address");
}

static void texts(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  char text[8] = "untouch";
  int64_t needed = -1;
  EXPECT(ctx, tokavg_last_error(ctx, NULL, 8, &needed), TOKAVG_ERR_ARGUMENT, "text is NULL", "capacity");
  EXPECT(ctx, tokavg_describe(ctx, NULL, 8, &needed), TOKAVG_ERR_ARGUMENT, "text is NULL");
  EXPECT(NULL, tokavg_describe(NULL, NULL, 8, &needed), TOKAVG_ERR_ARGUMENT, "text is NULL");
  EXPECT(ctx, tokavg_last_error(ctx, text, -1, &needed), TOKAVG_ERR_ARGUMENT, "capacity is -1", ">= 0");
  EXPECT(NULL, tokavg_describe(NULL, text, -5, &needed), TOKAVG_ERR_ARGUMENT, "capacity is -5");
  assert_int_equal(needed, -1);
  assert_string_equal(text, "untouch");
  /* Cut to fit; asking for the size alone is legal. */
  EXPECT(ctx, tokavg_count(ctx, NULL, NULL), TOKAVG_ERR_ARGUMENT, "labels");
  OK(ctx, tokavg_last_error(ctx, NULL, 0, &needed));
  assert_int_equal(needed, (int64_t)strlen(api_text(ctx)) + 1);
  OK(ctx, tokavg_last_error(ctx, text, (int64_t)sizeof text, NULL));
  assert_string_equal(text, "labels ");
  OK(ctx, tokavg_last_error(ctx, text, 1, &needed));
  assert_string_equal(text, "");
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_structs),
      cmocka_unit_test(null_outputs),
      cmocka_unit_test(null_without_a_context),
      cmocka_unit_test(texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
