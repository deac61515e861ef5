/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that are NULL, freed, foreign or of the other kind are told apart without touching memory. */
#include "support/unit.h"

#include "support/api.h"

/* Every function that takes a context, on one that is none. */
static void refused_everywhere(tokavg_context_t *ctx, const char *word) {
  const tokavg_labels_t labels = api_labels(NULL, 0, 0);
  const double value = 1;
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1);
  const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .labels = &labels, .vocab = 1};
  const tokavg_scale_t scale = {.struct_size = (uint32_t)sizeof scale, .kind = TOKAVG_FACTOR_SCALE};
  tokavg_ticket_t ticket = 7;
  double factor = -7;
  const float *device_factor = NULL;
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  EXPECT(NULL, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_count_add(ctx, 0, 1, 0, 1), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_discard(ctx), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_reduce(ctx, NULL, NULL, &ticket), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_flush(ctx, NULL), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_progress(ctx), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_wait(ctx, 1, TOKAVG_WAIT_COUNT, -1, &result), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_factor(ctx, 1, 0, TOKAVG_FACTOR_SCALE, &factor), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_factor_device(ctx, 1, 0, TOKAVG_FACTOR_SCALE, NULL, &device_factor), TOKAVG_ERR_HANDLE, "ctx is");
  EXPECT(NULL, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_scale(ctx, 1, &scale, NULL), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_release(ctx, 1), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_finalize(ctx), TOKAVG_ERR_HANDLE, "ctx is", word);
  EXPECT(NULL, tokavg_abort(ctx), TOKAVG_ERR_HANDLE, "ctx is", word);
  assert_int_equal(result.ticket, 0);
  assert_true(factor == -7);
  assert_null(device_factor);
  assert_int_equal(ticket, 0); /* the one output that says "no ticket" */
}

static void null_contexts(void **state) {
  (void)state;
  refused_everywhere(NULL, "NULL; make it first");
  OK(NULL, tokavg_free(NULL));
  OK(NULL, tokavg_threads_free(NULL));
}

/* For a handle that is not NULL these two do not mean the library. */
static void not_live(tokavg_context_t *ctx) {
  char text[64] = "untouched";
  refused_everywhere(ctx, "not a live handle");
  EXPECT(NULL, tokavg_free(ctx), TOKAVG_ERR_HANDLE, "ctx is", "freed, or never made here");
  EXPECT(NULL, tokavg_describe(ctx, text, (int64_t)sizeof text, NULL), TOKAVG_ERR_HANDLE, "not a live handle");
  assert_int_equal(tokavg_last_error(ctx, text, (int64_t)sizeof text, NULL), TOKAVG_ERR_HANDLE);
  assert_string_equal(text, "untouched");
}

static void freed_contexts(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  api_free(ctx);
  not_live(ctx);
  /* Another one in its place is not mistaken for it. */
  tokavg_context_t *next = api_self();
  assert_ptr_not_equal(next, ctx);
  not_live(ctx);
  api_still_works(next);
  api_free(next);
}

static void foreign_pointers(void **state) {
  (void)state;
  int mine = 0;
  not_live((tokavg_context_t *)&mine);
  not_live((tokavg_context_t *)(uintptr_t)1);
  not_live((tokavg_context_t *)UINTPTR_MAX);
  not_live((tokavg_context_t *)(uintptr_t)0xdeadbeef);
}

/* Bindings see untyped pointers: a group in the place of a context is a mistake that compiles there. */
static void the_other_kind(void **state) {
  (void)state;
  tokavg_context_t *contexts[3];
  tokavg_threads_t *groups[3];
  for (int i = 0; i < 3; i++) {
    contexts[i] = api_self();
    OK(NULL, tokavg_threads_create(1, &groups[i]));
  }
  for (int i = 0; i < 3; i++) {
    not_live((tokavg_context_t *)groups[i]);
    EXPECT(NULL, tokavg_threads_free((tokavg_threads_t *)contexts[i]), TOKAVG_ERR_HANDLE, "group is", "not a live");
  }
  for (int i = 0; i < 3; i++) {
    OK(NULL, tokavg_threads_free(groups[i]));
    EXPECT(NULL, tokavg_threads_free(groups[i]), TOKAVG_ERR_HANDLE, "group is", "freed, or never made here");
    api_still_works(contexts[i]);
    api_free(contexts[i]);
  }
}

static void groups(void **state) {
  (void)state;
  tokavg_threads_t *group = (tokavg_threads_t *)(uintptr_t)0x5a;
  EXPECT(NULL, tokavg_threads_create(0, &group), TOKAVG_ERR_ARGUMENT, "ranks is 0", "1 to 65536");
  EXPECT(NULL, tokavg_threads_create(-3, &group), TOKAVG_ERR_ARGUMENT, "ranks is -3");
  EXPECT(NULL, tokavg_threads_create(65537, &group), TOKAVG_ERR_ARGUMENT, "ranks is 65537");
  assert_int_equal((uintptr_t)group, 0x5a);
  tokavg_config_t config = api_config();
  config.comm_kind = TOKAVG_COMM_THREADS;
  tokavg_context_t *ctx = NULL;
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_HANDLE, "config.comm", "NULL");
  OK(NULL, tokavg_threads_create(1, &group));
  config.comm = group;
  config.comm_rank = 1;
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_CONFIG, "config.comm_rank is 1", "0 to 0");
  config.comm_rank = -1;
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_CONFIG, "config.comm_rank is -1");
  assert_null(ctx);
  config.comm_rank = 0;
  ctx = api_open(&config);
  OK(NULL, tokavg_threads_free(group)); /* its contexts stay valid */
  api_still_works(ctx);
  OK(ctx, tokavg_finalize(ctx));
  api_free(ctx);
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_HANDLE, "config.comm", "not a live handle");
}

static void thousands_in_turn(void **state) {
  (void)state;
  tokavg_context_t *first = NULL;
  for (int i = 0; i < 5000; i++) {
    tokavg_context_t *ctx = api_self();
    assert_ptr_not_equal(ctx, first); /* not even when every slot has been in use */
    if (i == 0) first = ctx;
    if (i % 1000 == 0) api_still_works(ctx);
    api_free(ctx);
    EXPECT(NULL, tokavg_free(ctx), TOKAVG_ERR_HANDLE, "not a live handle");
  }
}

/* Contexts that nobody frees end in an error that says so, and the rest goes on working. */
static void too_many_at_once(void **state) {
  (void)state;
  static tokavg_context_t *made[5000];
  const tokavg_config_t config = api_config();
  int n = 0;
  tokavg_status_t status = TOKAVG_OK;
  while (n < 5000 && (status = tokavg_init(&config, &made[n])) == TOKAVG_OK) n++;
  EXPECT(NULL, status, TOKAVG_ERR_MEMORY, "handles are in use", "free those");
  assert_true(n >= 1000);
  api_still_works(made[n - 1]);
  api_free(made[0]);
  made[0] = api_self();
  for (int i = 0; i < n; i++) api_free(made[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(null_contexts),    cmocka_unit_test(freed_contexts), cmocka_unit_test(foreign_pointers),
      cmocka_unit_test(the_other_kind),   cmocka_unit_test(groups),         cmocka_unit_test(thousands_in_turn),
      cmocka_unit_test(too_many_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
