/* SPDX-License-Identifier: Apache-2.0 */
/* The log callback, warnings of a slow step, and the deadline. */
#define _POSIX_C_SOURCE 200809L /* setenv, clock_gettime */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/api.h"
#include "support/slow_table.h"

struct lines {
  int count[5];
  char last[5][512];
};

static void keep(void *user, int32_t level, const char *text) {
  struct lines *lines = user;
  if (level < TOKAVG_LOG_ERROR || level > TOKAVG_LOG_DEBUG) level = 0;
  lines->count[level]++;
  strncpy(lines->last[level], text, sizeof lines->last[0] - 1);
}

static tokavg_config_t logging(struct lines *lines) {
  memset(lines, 0, sizeof *lines);
  tokavg_config_t config = api_config();
  config.log = keep;
  config.log_user = lines;
  return config;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A step whose audit fails (warning), then an abort (error). */
static void a_short_life(const tokavg_config_t *config) {
  tokavg_context_t *ctx = api_open(config);
  OK(ctx, tokavg_count_add(ctx, 0, 2, 0, 1));
  const double value = 1;
  const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1);
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  OK(ctx, tokavg_flush(ctx, NULL));
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, NULL), TOKAVG_OK);
  OK(NULL, tokavg_abort(ctx));
  assert_int_equal(tokavg_progress(ctx), TOKAVG_ERR_ABORTED);
  api_free(ctx);
}

static void levels(void **state) {
  (void)state;
  static const char *const names[] = {"off", "error", "warning", "info", "debug"};
  for (int level = 0; level <= TOKAVG_LOG_DEBUG; level++) {
    struct lines lines;
    tokavg_config_t config = logging(&lines);
    config.flags = 0;
    setenv("TOKAVG_LOG", names[level], 1);
    a_short_life(&config);
    unsetenv("TOKAVG_LOG");
    for (int l = TOKAVG_LOG_ERROR; l <= TOKAVG_LOG_DEBUG; l++) {
      if ((lines.count[l] > 0) != (l <= level))
        fail_msg("TOKAVG_LOG=%s: level %d: %d", names[level], l, lines.count[l]);
    }
    assert_int_equal(lines.count[0], 0);
  }
}

static void warnings_by_default(void **state) {
  (void)state;
  struct lines lines;
  const tokavg_config_t config = logging(&lines);
  a_short_life(&config);
  assert_int_equal(lines.count[TOKAVG_LOG_ERROR], 1); /* a context fails once */
  assert_int_equal(lines.count[TOKAVG_LOG_WARNING], 1);
  assert_int_equal(lines.count[TOKAVG_LOG_INFO] + lines.count[TOKAVG_LOG_DEBUG], 0);
  assert_non_null(strstr(lines.last[TOKAVG_LOG_ERROR], "tokavg_abort"));
  assert_non_null(strstr(lines.last[TOKAVG_LOG_WARNING], "2 tokens were counted, but 1"));
  assert_null(strchr(lines.last[TOKAVG_LOG_WARNING], '\n'));
}

/* A slow step gives one line, and is waited for. The clock starts with the first wait, not with the reduce. */
static void a_slow_step(void **state) {
  (void)state;
  struct lines lines;
  tokavg_config_t config = logging(&lines);
  config.warn_ms = 300;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, &config);
  slow.polls = SLOW_NEVER;
  const tokavg_ticket_t ticket = api_reduce(ctx);
  nanosleep(&(struct timespec){0, 350000000}, NULL);
  OK(ctx, tokavg_progress(ctx));
  assert_int_equal(lines.count[TOKAVG_LOG_WARNING], 0);
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 10, NULL), TOKAVG_PENDING);
  assert_int_equal(lines.count[TOKAVG_LOG_WARNING], 0);
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 400, NULL), TOKAVG_PENDING);
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 50, NULL), TOKAVG_PENDING);
  assert_int_equal(lines.count[TOKAVG_LOG_WARNING], 1);
  assert_non_null(strstr(lines.last[TOKAVG_LOG_WARNING], "step 1"));
  slow.polls = 0;
  assert_int_equal(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_EMPTY);
  assert_int_equal(lines.count[TOKAVG_LOG_ERROR], 0);
  api_free(ctx);
}

/* TIMEOUT within the deadline and a little, once and for all; what is known is in the result. */
static void the_deadline(void **state) {
  (void)state;
  struct lines lines;
  tokavg_config_t config = logging(&lines);
  config.timeout_ms = 300;
  config.warn_ms = 50;
  slow_table_t slow;
  tokavg_context_t *ctx = slow_table_open(&slow, &config);
  OK(ctx, tokavg_count_add(ctx, 0, 5, 0, 1));
  slow.polls = SLOW_NEVER;
  const tokavg_ticket_t ticket = api_reduce(ctx);
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  const double begin = now();
  EXPECT(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, &result), TOKAVG_ERR_TIMEOUT, "step 1", "0.3 s",
         "rank 0 did not arrive", "timeout_ms");
  const double waited = now() - begin;
  assert_true(waited >= 0.3 && waited < 1.5); /* promised are 0.1 s more; a loaded machine may add to that */
  assert_int_equal(result.ticket, ticket);
  assert_int_equal(result.local_tokens[0], 5);
  assert_int_equal(lines.count[TOKAVG_LOG_WARNING], 1);
  assert_int_equal(lines.count[TOKAVG_LOG_ERROR], 1);
  assert_non_null(strstr(lines.last[TOKAVG_LOG_ERROR], "did not arrive"));
  double factor = -7;
  tokavg_ticket_t none = 7;
  EXPECT(ctx, tokavg_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE, &factor), TOKAVG_ERR_TIMEOUT, "step 1");
  EXPECT(ctx, tokavg_count_add(ctx, 0, 1, 0, 1), TOKAVG_ERR_TIMEOUT, "step 1");
  EXPECT(ctx, tokavg_reduce(ctx, NULL, NULL, &none), TOKAVG_ERR_TIMEOUT, "step 1");
  EXPECT(ctx, tokavg_finalize(ctx), TOKAVG_ERR_TIMEOUT, "step 1");
  assert_true(factor == -7 && none == 0);
  assert_true(now() - begin < waited + 1); /* none of the four waits for a deadline of its own */
  api_free(ctx);
}

/* Two ranks, one of which never comes to the step. */
static void a_missing_rank(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.timeout_ms = 300;
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  const tokavg_ticket_t ticket = api_reduce(ctx[0]);
  double factor = -7;
  EXPECT(ctx[0], tokavg_factor(ctx[0], ticket, 0, TOKAVG_FACTOR_SCALE, &factor), TOKAVG_ERR_TIMEOUT, "step 1",
         "rank 1 did not arrive", "look at those ranks first");
  assert_true(factor == -7);
  /* The late one learns of it instead of waiting for a rank that has given up. */
  tokavg_ticket_t late = 7;
  assert_int_equal(tokavg_reduce(ctx[1], NULL, NULL, &late), TOKAVG_ERR_TIMEOUT);
  assert_int_equal(late, 0);
  for (int r = 0; r < 2; r++) api_free(ctx[r]);
}

/* Waiting so long and not longer is no failure. */
static void a_limited_wait_within_the_deadline(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  const tokavg_ticket_t ticket = api_reduce(ctx[0]);
  const double begin = now();
  EXPECT(ctx[0], tokavg_wait(ctx[0], ticket, TOKAVG_WAIT_COUNT, 50, NULL), TOKAVG_PENDING, "step 1");
  assert_true(now() - begin >= 0.05);
  (void)api_reduce(ctx[1]);
  for (int r = 0; r < 2; r++) {
    assert_int_equal(tokavg_wait(ctx[r], ticket, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_EMPTY);
    api_free(ctx[r]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(levels),         cmocka_unit_test(warnings_by_default),
      cmocka_unit_test(a_slow_step),    cmocka_unit_test(the_deadline),
      cmocka_unit_test(a_missing_rank), cmocka_unit_test(a_limited_wait_within_the_deadline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
