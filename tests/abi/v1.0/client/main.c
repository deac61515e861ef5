/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "client.h"

static atomic_int n_checks;
static atomic_int n_failures;

void check(int fine, const char *what, const char *file, int line) {
  atomic_fetch_add(&n_checks, 1);
  if (fine) return;
  atomic_fetch_add(&n_failures, 1);
  fprintf(stderr, "%s:%d: not %s\n", file, line, what);
}

int failures(void) { return atomic_load(&n_failures); }

int same(double a, double b) { return memcmp(&a, &b, sizeof a) == 0; }

/* Four units in the last place of a float. */
int close_to(double a, double b) { return fabs(a - b) <= 5e-7 * fabs(b); }

static void log_line(void *user, int32_t level, const char *text) {
  CHECK(user == (void *)&n_checks && level >= TOKAVG_LOG_ERROR && level <= TOKAVG_LOG_DEBUG && text != NULL);
}

tokavg_config_t base_config(const struct member *member) {
  tokavg_config_t config;
  OK(tokavg_config_init(&config, sizeof config));
  config.comm_kind = member->comm_kind;
  config.comm = member->comm;
  config.comm_rank = member->comm_kind == TOKAVG_COMM_THREADS ? member->rank : 0;
  config.transport = TOKAVG_TRANSPORT_AUTO;
  config.device = TOKAVG_DEVICE_HOST;
  config.host_threads = 1;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.label_copies = 1;
  config.microbatch_shards = 1;
  config.in_flight = 2;
  config.progress = TOKAVG_PROGRESS_AUTO;
  config.timeout_ms = 20000;
  config.warn_ms = 10000;
  config.flags = TOKAVG_CONFIG_NO_ENV;
  config.log = log_line;
  config.log_user = &n_checks;
  return config;
}

tokavg_context_t *open_context(const tokavg_config_t *config) {
  tokavg_context_t *ctx = NULL;
  char text[512] = "";
  if (tokavg_init(config, &ctx) == TOKAVG_OK && ctx != NULL) return ctx;
  (void)tokavg_last_error(NULL, text, sizeof text, NULL);
  check(0, text, __FILE__, __LINE__);
  return NULL;
}

void close_context(tokavg_context_t *ctx) {
  OK(tokavg_finalize(ctx));
  OK(tokavg_free(ctx));
}

static void *run_member(void *member) {
  run_cases(member);
  run_calls(member);
  return NULL;
}

static void run_on_threads(void) {
  tokavg_threads_t *group = NULL;
  pthread_t threads[MOST_RANKS];
  struct member members[MOST_RANKS];
  OK(tokavg_threads_create(MOST_RANKS, &group));
  for (int32_t r = 0; r < MOST_RANKS; r++) {
    members[r] = (struct member){TOKAVG_COMM_THREADS, group, r, MOST_RANKS};
    CHECK(pthread_create(&threads[r], NULL, run_member, &members[r]) == 0);
  }
  for (int r = 0; r < MOST_RANKS; r++) pthread_join(threads[r], NULL);
  OK(tokavg_threads_free(group));
}

int main(void) {
  struct member alone = {TOKAVG_COMM_SELF, NULL, 0, 1};
  run_without_context();
  run_member(&alone);
  run_on_threads();
  run_on_a_table();
  printf("client 1.0 on tokavg %s: %d checks, %d failed\n", tokavg_version(), atomic_load(&n_checks), failures());
  return failures() == 0 ? 0 : 1;
}
