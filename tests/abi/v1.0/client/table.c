/* SPDX-License-Identifier: Apache-2.0 */
/* A transport of the caller's own, written against the table of 1.0: one rank, whose sums are complete one test late.
 */
#include <stdio.h>
#include <string.h>

#include <tokavg/transport_plugin.h>

#include "client.h"

struct table_user {
  int starts;
  int tests;
  int closes;
};

static tokavg_status_t start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  struct table_user *mine = user;
  CHECK(words != NULL && n_words >= 1 && n_words <= 4096);
  *request_out = &mine->starts;
  mine->starts++;
  return TOKAVG_OK;
}

static tokavg_status_t test(void *user, void *request, int32_t *done_out) {
  struct table_user *mine = user;
  CHECK(request == &mine->starts);
  *done_out = mine->tests++ % 2;
  return TOKAVG_OK;
}

static tokavg_status_t cancel(void *user, void *request) { return user != NULL && request != NULL ? 0 : -1; }

static tokavg_status_t late_ranks(void *user, void *request, int32_t *ranks_out, int32_t capacity, int32_t *count_out) {
  (void)user, (void)request, (void)ranks_out, (void)capacity;
  *count_out = 0;
  return TOKAVG_OK;
}

static tokavg_status_t tell_abort(void *user) { return user != NULL ? TOKAVG_OK : TOKAVG_ERR_TRANSPORT; }

static tokavg_status_t describe(void *user, void *request, char *text_out, int64_t capacity) {
  (void)user;
  snprintf(text_out, (size_t)capacity, "%s", request != NULL ? "one sum" : "{\"name\":\"client_1_0\",\"error\":null}");
  return TOKAVG_OK;
}

static void close_table(void *user, int32_t collective) {
  struct table_user *mine = user;
  CHECK(collective == 0 || collective == 1);
  mine->closes++;
}

void run_on_a_table(void) {
  struct table_user user = {0, 0, 0};
  const tokavg_transport_t table = {.struct_size = sizeof table,
                                    .version = TOKAVG_TRANSPORT_VERSION,
                                    .rank = 0,
                                    .ranks = 1,
                                    .user = &user,
                                    .start = start,
                                    .test = test,
                                    .cancel = cancel,
                                    .late_ranks = late_ranks,
                                    .abort = tell_abort,
                                    .describe = describe,
                                    .close = close_table};
  const struct member alone = {TOKAVG_COMM_CALLER, &table, 0, 1};
  run_cases(&alone);
  run_calls(&alone);
  CHECK(user.starts > n_cases && user.tests > user.starts && user.closes > 0);
}
