/* SPDX-License-Identifier: Apache-2.0 */
/* NULL for each pointer and every kind of struct_size: status, a text with a remedy, nothing written, nothing broken.
 */
#include "support/unit.h"

#include <string.h>

#include "support/api.h"

static const int32_t some_labels[4] = {1, 2, -100, 3};

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

/* One struct of the caller's with room behind it for what a newer header might append. */
struct sized {
  union {
    tokavg_config_t config;
    tokavg_labels_t labels;
    tokavg_loss_t loss;
    tokavg_cross_entropy_t ce;
    tokavg_scale_t scale;
    tokavg_reduce_t reduce;
    tokavg_result_t result;
    uint32_t struct_size;
  } as;
  unsigned char tail[64];
};

typedef tokavg_status_t (*use_t)(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized);

static tokavg_status_t use_config(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  (void)ctx, (void)ticket;
  const uint32_t size = sized->as.struct_size;
  sized->as.config = api_config();
  sized->as.struct_size = size;
  tokavg_context_t *made = NULL;
  const tokavg_status_t status = tokavg_init(&sized->as.config, &made);
  if (status == TOKAVG_OK) api_free(made);
  if (status != TOKAVG_OK) assert_null(made);
  return status;
}

static tokavg_status_t use_labels(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  (void)ticket;
  return tokavg_count(ctx, &sized->as.labels, NULL);
}

static tokavg_status_t use_loss(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  (void)ticket;
  sized->as.loss.kind = TOKAVG_LOSS_SUM;
  return tokavg_loss(ctx, TOKAVG_OPEN, &sized->as.loss, NULL);
}

static tokavg_status_t use_loss_labels(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  (void)ticket;
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES};
  loss.labels = &sized->as.labels;
  return tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL);
}

static tokavg_status_t use_ce(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  (void)ticket;
  const tokavg_labels_t none = api_labels(NULL, 0, 0);
  sized->as.ce.labels = &none;
  sized->as.ce.vocab = 2;
  return tokavg_cross_entropy(ctx, TOKAVG_OPEN, &sized->as.ce, NULL);
}

static tokavg_status_t use_scale(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  sized->as.scale.kind = TOKAVG_FACTOR_REPORT;
  return tokavg_scale(ctx, ticket, &sized->as.scale, NULL);
}

static tokavg_status_t use_reduce(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  (void)ticket;
  tokavg_ticket_t newest = 0;
  const tokavg_status_t status = tokavg_reduce(ctx, &sized->as.reduce, NULL, &newest);
  assert_true(newest > 0); /* also when it fails: that ticket has failed */
  if (status < 0) assert_int_equal(tokavg_wait(ctx, newest, TOKAVG_WAIT_COUNT, -1, NULL), status);
  return status;
}

static tokavg_status_t use_result(tokavg_context_t *ctx, tokavg_ticket_t ticket, struct sized *sized) {
  const tokavg_status_t status = tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, &sized->as.result);
  /* Written only on success, and never behind the part that this library knows. */
  assert_int_equal(sized->as.result.ticket, status == TOKAVG_OK ? ticket : 0);
  return status;
}

struct user {
  const char *name;
  use_t use;
  uint32_t size;
  int marks;
  int own_context; /* the text is this thread's */
};

static const struct user users[] = {
    {"config", use_config, sizeof(tokavg_config_t), 0, 1},
    {"labels", use_labels, sizeof(tokavg_labels_t), 1, 0},
    {"loss", use_loss, sizeof(tokavg_loss_t), 1, 0},
    {"loss.labels", use_loss_labels, sizeof(tokavg_labels_t), 1, 0},
    {"ce", use_ce, sizeof(tokavg_cross_entropy_t), 1, 0},
    {"scale", use_scale, sizeof(tokavg_scale_t), 1, 0},
    {"options", use_reduce, sizeof(tokavg_reduce_t), 0, 0},
    {"result_out", use_result, sizeof(tokavg_result_t), 0, 0},
};

/* Uses a struct of `size` bytes, of which byte number `set` (if any) is 1, on a ticket that holds 4 tokens. */
static void try_size(const struct user *user, uint32_t size, uint32_t set, tokavg_status_t status, const char *word) {
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  struct sized sized;
  memset(&sized, 0, sizeof sized);
  sized.as.struct_size = size;
  if (set != 0) ((unsigned char *)&sized)[set] = 1;
  const tokavg_status_t got = user->use(ctx, ticket, &sized);
  tokavg_context_t *speaker = user->own_context ? NULL : ctx;
  if (status == TOKAVG_OK) {
    OK(speaker, got);
  } else {
    EXPECT(speaker, got, status, user->name, word);
    if (user->marks) marked(ctx, status);
  }
  if (status == TOKAVG_OK) (void)api_reduce(ctx);
  api_still_works(ctx);
  api_free(ctx);
}

static void struct_sizes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof users / sizeof *users; i++) {
    const struct user *user = &users[i];
    try_size(user, 0, 0, TOKAVG_ERR_ARGUMENT, "struct_size is 0; set it to sizeof");
    try_size(user, 4, 0, TOKAVG_ERR_ARGUMENT, "struct_size is 4; set it to sizeof");
    try_size(user, user->size - 1, 0, TOKAVG_ERR_ARGUMENT, "struct_size is");
    try_size(user, 65537, 0, TOKAVG_ERR_ARGUMENT, "struct_size is 65537");
    try_size(user, UINT32_MAX, 0, TOKAVG_ERR_ARGUMENT, "struct_size is 4294967295");
    try_size(user, user->size, 0, TOKAVG_OK, "");
    try_size(user, user->size + 24, 0, TOKAVG_OK, "");
    /* A result is only written: what was in it before does not matter. */
    const tokavg_status_t tail = user->use == use_result ? TOKAVG_OK : TOKAVG_ERR_UNSUPPORTED;
    try_size(user, user->size + 24, user->size, tail, "does not know; zero it");
    try_size(user, user->size + 24, user->size + 23, tail, "does not know; zero it");
    /* What lies behind struct_size is none of the library's business. */
    try_size(user, user->size, user->size + 8, TOKAVG_OK, "");
  }
}

/* A longer result of a newer caller: the part that this library does not know stays as it was. */
static void the_tail_of_a_result(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  struct sized sized;
  memset(&sized, 0, sizeof sized);
  sized.as.struct_size = (uint32_t)sizeof(tokavg_result_t);
  memset((unsigned char *)&sized + sizeof(tokavg_result_t), 0x5a, sizeof sized - sizeof(tokavg_result_t));
  OK(ctx, tokavg_count(ctx,
                       &(tokavg_labels_t){.struct_size = (uint32_t)sizeof(tokavg_labels_t),
                                          .rows = 2,
                                          .cols = 2,
                                          .labels = api_array(some_labels, TOKAVG_DTYPE_I32)},
                       NULL));
  OK(ctx, tokavg_wait(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, -1, &sized.as.result));
  assert_int_equal(sized.as.result.tokens[0], 3);
  assert_int_equal(sized.as.struct_size, sizeof(tokavg_result_t));
  api_untouched((unsigned char *)&sized + sizeof(tokavg_result_t), 0x5a, sizeof sized - sizeof(tokavg_result_t));
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_structs), cmocka_unit_test(null_outputs), cmocka_unit_test(null_without_a_context),
      cmocka_unit_test(texts),        cmocka_unit_test(struct_sizes), cmocka_unit_test(the_tail_of_a_result),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
