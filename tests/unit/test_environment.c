/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables override what operates the library, are shown by tokavg_describe, and can be switched off. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "support/api.h"

static const char *const names[] = {
    "TOKAVG_TIMEOUT_MS",   "TOKAVG_WARN_MS",     "TOKAVG_PROGRESS",  "TOKAVG_TRANSPORT", "TOKAVG_IN_FLIGHT",
    "TOKAVG_HOST_THREADS", "TOKAVG_PLUGIN_PATH", "TOKAVG_NCCL_PATH", "TOKAVG_LOG",       "TOKAVG_SIMD"};

static int clean(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
  return 0;
}

/* With the environment, unlike api_config(). */
static tokavg_config_t listening(void) {
  tokavg_config_t config = api_config();
  config.flags = 0;
  return config;
}

static const char *description(tokavg_context_t *ctx) {
  static char text[16384];
  OK(ctx, tokavg_describe(ctx, text, (int64_t)sizeof text, NULL));
  if (!api_is_json_object(text)) fail_msg("not JSON: %s", text);
  return text;
}

static void shown(tokavg_context_t *ctx, const char *word) {
  if (strstr(description(ctx), word) == NULL) fail_msg("%s is not in %s", word, description(ctx));
}

static void overrides(void **state) {
  (void)state;
  setenv("TOKAVG_TIMEOUT_MS", "2000", 1);
  setenv("TOKAVG_WARN_MS", "500", 1);
  setenv("TOKAVG_IN_FLIGHT", "2", 1);
  setenv("TOKAVG_HOST_THREADS", "3", 1);
  setenv("TOKAVG_PROGRESS", "caller", 1);
  setenv("TOKAVG_TRANSPORT", "auto", 1);
  setenv("TOKAVG_PLUGIN_PATH", "/some/folder", 1);
  setenv("TOKAVG_LOG", "debug", 1);
  setenv("TOKAVG_SIMD", "portable", 1);
  tokavg_config_t config = listening();
  config.timeout_ms = 77;
  tokavg_context_t *ctx = api_open(&config);
  shown(ctx, "\"timeout_ms\": 2000");
  shown(ctx, "\"in_flight\": 2");
  static const char *const lines[] = {"timeout_ms=2000 (TOKAVG_TIMEOUT_MS)",
                                      "warn_ms=500 (TOKAVG_WARN_MS)",
                                      "in_flight=2 (TOKAVG_IN_FLIGHT)",
                                      "host_threads=3 (TOKAVG_HOST_THREADS)",
                                      "progress=caller (TOKAVG_PROGRESS)",
                                      "transport=auto (TOKAVG_TRANSPORT)",
                                      "plugin_path=/some/folder (TOKAVG_PLUGIN",
                                      "log=debug (TOKAVG_LOG)",
                                      "simd=portable (TOKAVG_SIMD)",
                                      "\"kernels\": \"portable\""};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) shown(ctx, lines[i]);
  const tokavg_ticket_t first = api_reduce(ctx);
  (void)api_reduce(ctx);
  (void)api_reduce(ctx);
  assert_int_equal(tokavg_wait(ctx, first, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_STALE); /* in_flight is 2 */
  api_free(ctx);
}

static void not_with_no_env(void **state) {
  (void)state;
  setenv("TOKAVG_TIMEOUT_MS", "nonsense", 1);
  setenv("TOKAVG_IN_FLIGHT", "2", 1);
  tokavg_config_t config = listening();
  config.flags = TOKAVG_CONFIG_NO_ENV;
  tokavg_context_t *ctx = api_open(&config);
  shown(ctx, "\"overridden\": []");
  shown(ctx, "\"in_flight\": 4");
  api_free(ctx);
}

static void empty_is_unset(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) setenv(names[i], "", 1);
  const tokavg_config_t config = listening();
  tokavg_context_t *ctx = api_open(&config);
  shown(ctx, "\"overridden\": []");
  api_free(ctx);
}

static void bad(const char *name, const char *value, const char *accepted) {
  (void)clean(NULL);
  setenv(name, value, 1);
  const tokavg_config_t config = listening();
  tokavg_context_t *ctx = NULL;
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_CONFIG, name, value, accepted);
  assert_null(ctx);
}

static void bad_values(void **state) {
  (void)state;
  bad("TOKAVG_TIMEOUT_MS", "soon", "a whole number from 1 to 2147483647");
  bad("TOKAVG_TIMEOUT_MS", "0", "from 1");
  bad("TOKAVG_TIMEOUT_MS", "-5", "from 1");
  bad("TOKAVG_TIMEOUT_MS", "10s", "a whole number");
  bad("TOKAVG_TIMEOUT_MS", "1e3", "a whole number");
  bad("TOKAVG_TIMEOUT_MS", "99999999999999999999", "a whole number");
  bad("TOKAVG_WARN_MS", "2147483648", "to 2147483647");
  bad("TOKAVG_IN_FLIGHT", "1", "from 2 to 16");
  bad("TOKAVG_HOST_THREADS", "1025", "from 1 to 1024");
  bad("TOKAVG_PROGRESS", "Thread", "auto, thread, caller");
  bad("TOKAVG_TRANSPORT", "mpi", "auto, nccl");
  bad("TOKAVG_LOG", "verbose", "off, error, warning, info, debug");
  bad("TOKAVG_SIMD", "sse9", "this processor has: auto, ");
}

/* The variables of one machine may differ from those of another: the other ranks must not wait for the deadline. */
static void a_bad_value_on_one_rank(void **state) {
  (void)state;
  tokavg_config_t config[2] = {api_config(), listening()};
  setenv("TOKAVG_WARN_MS", "never", 1);
  api_refuse_ranks(config, (const tokavg_status_t[]){TOKAVG_ERR_PEER, TOKAVG_ERR_CONFIG});
}

static void nccl_is_not_built(void **state) {
  (void)state;
  setenv("TOKAVG_TRANSPORT", "nccl", 1);
  const tokavg_config_t config = listening();
  tokavg_context_t *ctx = NULL;
  static char text[16384];
  assert_int_equal(tokavg_describe(NULL, text, (int64_t)sizeof text, NULL), TOKAVG_OK);
  if (strstr(text, "\"nccl\": true") != NULL) skip(); /* then it depends on the machine: tests/nccl */
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_NOT_BUILT, "-DTOKAVG_NCCL=ON");
}

/* A folder's name is bytes; a description is UTF-8 all the same. */
static void a_path_that_is_not_utf8(void **state) {
  (void)state;
  setenv("TOKAVG_PLUGIN_PATH", "/tmp/\xff\xfe", 1);
  const tokavg_config_t config = listening();
  tokavg_context_t *ctx = api_open(&config);
  shown(ctx, "plugin_path=/tmp/");
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(overrides, clean, clean),
      cmocka_unit_test_setup_teardown(not_with_no_env, clean, clean),
      cmocka_unit_test_setup_teardown(empty_is_unset, clean, clean),
      cmocka_unit_test_setup_teardown(bad_values, clean, clean),
      cmocka_unit_test_setup_teardown(a_bad_value_on_one_rank, clean, clean),
      cmocka_unit_test_setup_teardown(nccl_is_not_built, clean, clean),
      cmocka_unit_test_setup_teardown(a_path_that_is_not_utf8, clean, clean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
