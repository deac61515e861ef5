/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a context: finalize, abort, free, and what a child process may do with it. */
#define _POSIX_C_SOURCE 200809L /* fork */
#include "support/unit.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/api.h"
#include "support/slow_table.h"

/* Every call that changes something, on a context that is at its end. */
static void refused(tokavg_context_t *ctx, tokavg_ticket_t ticket, tokavg_status_t status, const char *word) {
  const tokavg_labels_t labels = api_labels(NULL, 0, 0);
  const double value = 1;
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1);
  const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .labels = &labels, .vocab = 1};
  const tokavg_scale_t scale = {.struct_size = (uint32_t)sizeof scale, .kind = TOKAVG_FACTOR_SCALE};
  tokavg_ticket_t next = 7;
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), status, word);
  EXPECT(ctx, tokavg_count_add(ctx, 0, 1, 0, 1), status, word);
  EXPECT(ctx, tokavg_discard(ctx), status, word);
  EXPECT(ctx, tokavg_reduce(ctx, NULL, NULL, &next), status, word);
  EXPECT(ctx, tokavg_flush(ctx, NULL), status, word);
  EXPECT(ctx, tokavg_progress(ctx), status, word);
  EXPECT(ctx, tokavg_loss(ctx, ticket, &loss, NULL), status, word);
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), status, word);
  EXPECT(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL), status, word);
  EXPECT(ctx, tokavg_scale(ctx, ticket, &scale, NULL), status, word);
  EXPECT(ctx, tokavg_release(ctx, ticket), status, word);
  EXPECT(ctx, tokavg_finalize(ctx), status, word);
  assert_int_equal(next, 0);
}

static void after_finalize(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const double value = 6;
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 4);
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL)); /* not sent yet */
  OK(ctx, tokavg_finalize(ctx));
  for (int again = 0; again < 2; again++) {
    const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
    assert_true(result.mean_loss[0] == 1.5);
    assert_true(api_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE) == 0.25);
    refused(ctx, ticket, TOKAVG_ERR_STATE, "finalized");
  }
  EXPECT(NULL, tokavg_abort(ctx), TOKAVG_ERR_STATE, "finalized"); /* from any thread: the text is the thread's */
  assert_true(api_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE) == 0.25);
  api_free(ctx);
}

/* What failed since the last reduce is told at the end, on the failing rank as on the others. */
static void a_failure_before_finalize(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx = api_open(&config);
  EXPECT(ctx, tokavg_count_add(ctx, 0, -1, 0, 1), TOKAVG_ERR_ARGUMENT, "tokens is -1");
  EXPECT(ctx, tokavg_finalize(ctx), TOKAVG_ERR_ARGUMENT, "tokens is -1");
  EXPECT(ctx, tokavg_finalize(ctx), TOKAVG_ERR_STATE, "finalized"); /* it is finalized all the same */
  api_free(ctx);
}

/* A table is closed once and then left alone, whatever the application does. */
static void the_transport_is_closed_once(void **state) {
  (void)state;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, NULL);
  const tokavg_ticket_t ticket = api_reduce(ctx);
  OK(ctx, tokavg_finalize(ctx));
  assert_int_equal(slow.closes, 1);
  (void)tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, NULL);
  (void)tokavg_abort(ctx);
  (void)tokavg_progress(ctx);
  char text[16384];
  OK(ctx, tokavg_describe(ctx, text, (int64_t)sizeof text, NULL));
  api_free(ctx);
  assert_int_equal(slow.closes, 1);
  assert_int_equal(slow.calls_after_close, 0);
}

static void free_with_a_sum_in_flight(void **state) {
  (void)state;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, NULL);
  slow.polls = SLOW_NEVER;
  (void)api_reduce(ctx);
  OK(ctx, tokavg_flush(ctx, NULL));
  assert_int_equal(slow.in_flight, 2);
  api_free(ctx);
  assert_int_equal(slow.in_flight, 0); /* cancelled before the words went */
  assert_int_equal(slow.closes, 1);
  assert_int_equal(slow.calls_after_close, 0);
}

static void aborted(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  const tokavg_ticket_t ticket = api_reduce(ctx[1]);
  OK(NULL, tokavg_abort(ctx[0]));
  OK(NULL, tokavg_abort(ctx[0]));
  refused(ctx[0], 1, TOKAVG_ERR_ABORTED, "tokavg_abort was called");
  EXPECT(ctx[1], tokavg_wait(ctx[1], ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_ABORTED, "rank 0");
  refused(ctx[1], ticket, TOKAVG_ERR_ABORTED, "rank 0"); /* sticky */
  for (int r = 0; r < 2; r++) api_free(ctx[r]);
}

/* Cross entropy of more rows than one thread takes, on the open step. */
static tokavg_status_t many_rows(tokavg_context_t *ctx) {
  enum { kRows = 64, kVocab = 4096 };
  static float logits[kRows * kVocab];
  static int32_t y[kRows];
  const tokavg_labels_t labels = api_labels(y, 1, kRows);
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = kVocab, .labels = &labels};
  ce.logits = api_array(logits, TOKAVG_DTYPE_F32);
  const tokavg_status_t status = tokavg_count(ctx, &labels, NULL);
  return status == TOKAVG_OK ? tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL) : status;
}

/* A thread that cannot be made is an error of init, and leaves none behind. */
static void not_enough_memory_for_threads(void **state) {
  (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  skip(); /* they need more address space than there is */
#endif
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    const struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
    tokavg_config_t config = api_config();
    config.host_threads = 1024;
    tokavg_context_t *ctx = NULL;
    char text[512] = "";
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(1);
    if (tokavg_init(&config, &ctx) != TOKAVG_ERR_MEMORY) _exit(2);
    (void)tokavg_last_error(NULL, text, (int64_t)sizeof text, NULL);
    if (strstr(text, "could be started") == NULL || strstr(text, "TOKAVG_HOST_THREADS") == NULL) _exit(3);
    config.host_threads = 2;
    if (tokavg_init(&config, &ctx) != TOKAVG_OK || tokavg_free(ctx) != TOKAVG_OK) _exit(4);
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

/* 0, or the number of the first thing that is wrong. Asserts of cmocka belong to the parent. */
static int in_the_child(tokavg_context_t *ctx, tokavg_ticket_t open) {
  tokavg_ticket_t next = 7;
  char text[1024] = "";
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  if (tokavg_reduce(ctx, NULL, NULL, &next) != TOKAVG_ERR_STATE || next != 0) return 1;
  if (tokavg_last_error(ctx, text, (int64_t)sizeof text, NULL) != TOKAVG_OK || strstr(text, "fork") == NULL) return 2;
  if (tokavg_wait(ctx, open, TOKAVG_WAIT_COUNT, -1, &result) != TOKAVG_ERR_STATE) return 3;
  if (tokavg_flush(ctx, NULL) != TOKAVG_ERR_STATE) return 4;
  if (tokavg_progress(ctx) != TOKAVG_ERR_STATE) return 5;
  if (tokavg_finalize(ctx) != TOKAVG_ERR_STATE) return 6;
  if (tokavg_abort(ctx) != TOKAVG_ERR_STATE) return 7;
  /* What stays within this process must not wait for threads that only the parent has. */
  if (many_rows(ctx) != TOKAVG_OK) return 13;
  if (tokavg_free(ctx) != TOKAVG_OK) return 8;
  if (tokavg_free(ctx) != TOKAVG_ERR_HANDLE) return 9;
  /* A context of its own is fine. */
  const tokavg_config_t config = api_config();
  if (tokavg_init(&config, &ctx) != TOKAVG_OK) return 10;
  if (tokavg_reduce(ctx, NULL, NULL, &next) != TOKAVG_OK || next != 1) return 11;
  if (tokavg_free(ctx) != TOKAVG_OK) return 12;
  return 0;
}

static void after_fork(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.host_threads = 3;
  tokavg_context_t *ctx = api_open(&config);
  assert_int_equal(many_rows(ctx), TOKAVG_OK);
  OK(ctx, tokavg_discard(ctx));
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t done = api_reduce(ctx);
  (void)api_result(ctx, done, TOKAVG_WAIT_COUNT, TOKAVG_OK);
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t open = api_reduce(ctx);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(in_the_child(ctx, open));
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  /* The parent has noticed nothing. */
  assert_int_equal(api_result(ctx, open, TOKAVG_WAIT_COUNT, TOKAVG_OK).tokens[0], 4);
  api_still_works(ctx);
  OK(ctx, tokavg_finalize(ctx));
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(after_finalize),
      cmocka_unit_test(not_enough_memory_for_threads),
      cmocka_unit_test(a_failure_before_finalize),
      cmocka_unit_test(the_transport_is_closed_once),
      cmocka_unit_test(free_with_a_sum_in_flight),
      cmocka_unit_test(aborted),
      cmocka_unit_test(after_fork),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
