/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration: defaults, the range of every field, the description as JSON, and the names of the version. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/api.h"

static void defaults(void **state) {
  (void)state;
  tokavg_config_t config;
  memset(&config, 0x5a, sizeof config);
  OK(NULL, tokavg_config_init(&config, (uint32_t)sizeof config));
  assert_int_equal(config.struct_size, sizeof config);
  assert_int_equal(config.device_index, -1);
  assert_true(config.ignore_index == -100);
  tokavg_config_t zero;
  memset(&zero, 0, sizeof zero);
  zero.struct_size = (uint32_t)sizeof zero;
  zero.device_index = -1;
  zero.ignore_index = -100;
  assert_memory_equal(&config, &zero, sizeof zero);
}

/* A newer caller's struct is longer: all of it is written. */
static void a_longer_struct(void **state) {
  (void)state;
  struct {
    tokavg_config_t config;
    unsigned char newer[40], canary[8];
  } longer;
  memset(&longer, 0x5a, sizeof longer);
  const uint32_t size = (uint32_t)(sizeof longer - sizeof longer.canary);
  OK(NULL, tokavg_config_init(&longer.config, size));
  assert_int_equal(longer.config.struct_size, size);
  api_untouched(longer.newer, 0, sizeof longer.newer);
  api_untouched(longer.canary, 0x5a, sizeof longer.canary);
}

static void sizes(void **state) {
  (void)state;
  static const uint32_t bad[] = {0, 4, sizeof(tokavg_config_t) - 1, 65537, UINT32_MAX};
  tokavg_config_t config;
  memset(&config, 0x5a, sizeof config);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    EXPECT(NULL, tokavg_config_init(&config, bad[i]), TOKAVG_ERR_ARGUMENT, "struct_size is", "sizeof(tokavg_config_t)");
  }
  api_untouched(&config, 0x5a, sizeof config);
}

#define BAD(status, change, ...)                                   \
  do {                                                             \
    tokavg_config_t config = api_config();                         \
    change;                                                        \
    tokavg_context_t *ctx = NULL;                                  \
    EXPECT(NULL, tokavg_init(&config, &ctx), status, __VA_ARGS__); \
    assert_null(ctx);                                              \
  } while (0)

static void unset_fields(void **state) {
  (void)state;
  BAD(TOKAVG_ERR_CONFIG, config.comm_kind = 0, "config.comm_kind is 0", "TOKAVG_COMM_");
  BAD(TOKAVG_ERR_CONFIG, config.comm_kind = 7, "config.comm_kind is 7", "TOKAVG_COMM_");
  BAD(TOKAVG_ERR_CONFIG, config.comm_kind = -1, "config.comm_kind is -1");
  BAD(TOKAVG_ERR_CONFIG, config.gradient_reduction = 0, "config.gradient_reduction is not set", "TOKAVG_GRADIENT_MEAN");
  BAD(TOKAVG_ERR_CONFIG, config.comm_kind = TOKAVG_COMM_CALLER, "config.comm is NULL", "tokavg_transport_t");
}

static void ranges(void **state) {
  (void)state;
  BAD(TOKAVG_ERR_CONFIG, config.gradient_reduction = 3, "config.gradient_reduction is 3", "TOKAVG_GRADIENT_SUM");
  BAD(TOKAVG_ERR_CONFIG, config.transport = 7, "config.transport is 7", "TOKAVG_TRANSPORT_AUTO");
  BAD(TOKAVG_ERR_CONFIG, config.device = 3, "config.device is 3", "_CUDA");
  BAD(TOKAVG_ERR_CONFIG, config.device_index = -2, "config.device_index is -2");
  BAD(TOKAVG_ERR_CONFIG, config.host_threads = -1, "config.host_threads is -1", "1 to 1024");
  BAD(TOKAVG_ERR_CONFIG, config.host_threads = 1025, "config.host_threads is 1025");
  BAD(TOKAVG_ERR_CONFIG, config.gradient_ranks = -1, "config.gradient_ranks is -1");
  BAD(TOKAVG_ERR_CONFIG, config.label_copies = -1, "config.label_copies is -1");
  BAD(TOKAVG_ERR_CONFIG, config.label_copies = 2, "config.label_copies is 2", "does not divide");
  BAD(TOKAVG_ERR_CONFIG, config.label_copies = INT32_MAX, "config.label_copies is 2147483647");
  BAD(TOKAVG_ERR_CONFIG, config.label_copy_index = 1, "config.label_copy_index is 1", "0 to 0");
  BAD(TOKAVG_ERR_CONFIG, config.label_copy_index = -1, "config.label_copy_index is -1");
  BAD(TOKAVG_ERR_CONFIG, config.asks_only = 2, "config.asks_only is 2", "0 to 1");
  BAD(TOKAVG_ERR_CONFIG, config.microbatch_shards = -1, "config.microbatch_shards is -1");
  BAD(TOKAVG_ERR_CONFIG, config.accumulation_divisor = -1, "config.accumulation_divisor is -1", "above 0");
  BAD(TOKAVG_ERR_CONFIG, config.accumulation_divisor = NAN, "config.accumulation_divisor is nan", "finite");
  BAD(TOKAVG_ERR_CONFIG, config.accumulation_divisor = INFINITY, "config.accumulation_divisor is inf");
  BAD(TOKAVG_ERR_CONFIG, config.divisor = 2, "config.divisor is 2", "TOKAVG_DIVISOR_WEIGHTS");
  BAD(TOKAVG_ERR_CONFIG, config.terms = 9, "config.terms is 9", "1 to 8");
  BAD(TOKAVG_ERR_CONFIG, config.terms = -1, "config.terms is -1");
  BAD(TOKAVG_ERR_CONFIG, config.in_flight = 1, "config.in_flight is 1", "2 to 16");
  BAD(TOKAVG_ERR_CONFIG, config.in_flight = 17, "config.in_flight is 17");
  BAD(TOKAVG_ERR_CONFIG, config.progress = 3, "config.progress is 3", "TOKAVG_PROGRESS_AUTO");
  BAD(TOKAVG_ERR_CONFIG, config.timeout_ms = -1, "config.timeout_ms is -1", "1 to 2147483647");
  BAD(TOKAVG_ERR_CONFIG, config.timeout_ms = INT64_C(1) << 31, "config.timeout_ms is 2147483648");
  BAD(TOKAVG_ERR_CONFIG, config.warn_ms = -1, "config.warn_ms is -1");
  BAD(TOKAVG_ERR_CONFIG, config.warn_ms = INT64_MAX, "config.warn_ms is 9223372036854775807");
  BAD(TOKAVG_ERR_UNSUPPORTED, config.flags = 4, "config.flags is 0x4");
  BAD(TOKAVG_ERR_UNSUPPORTED, config.reserved = 1, "config.reserved is 1", "must be 0");
}

static void the_ends_of_the_ranges(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.host_threads = 1024;
  config.gradient_ranks = INT32_MAX;
  config.microbatch_shards = INT32_MAX;
  config.terms = 8;
  config.in_flight = 16;
  config.timeout_ms = INT32_MAX;
  config.warn_ms = INT32_MAX;
  config.ignore_index = INT64_MIN;
  config.accumulation_divisor = 1e-300;
  tokavg_context_t *ctx = api_open(&config);
  api_still_works(ctx);
  api_free(ctx);
}

/* Any label may be the one that is ignored, 0 above all. */
static void ignore_index(void **state) {
  (void)state;
  static const int64_t values[4] = {0, -100, 5, INT64_MAX};
  for (int i = 0; i < 4; i++) {
    tokavg_config_t config = api_config();
    config.ignore_index = values[i];
    tokavg_context_t *ctx = api_open(&config);
    tokavg_labels_t labels = api_labels(NULL, 1, 4);
    labels.labels = api_array(values, TOKAVG_DTYPE_I64);
    OK(ctx, tokavg_count(ctx, &labels, NULL));
    assert_int_equal(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).tokens[0], 3);
    api_free(ctx);
  }
}

static void described(tokavg_context_t *ctx, const char *member) {
  static char text[16384];
  int64_t needed = 0;
  OK(ctx, tokavg_describe(ctx, text, (int64_t)sizeof text, &needed));
  assert_true(needed == (int64_t)strlen(text) + 1);
  if (!api_is_json_object(text)) fail_msg("not JSON: %s", text);
  if (strstr(text, member) == NULL) fail_msg("%s is not in %s", member, text);
}

static void descriptions(void **state) {
  (void)state;
  described(NULL, "\"version\": \"" TOKAVG_VERSION_STRING "\"");
  described(NULL, "\"host\"");
  described(NULL, "\"threads\"");
  tokavg_config_t config = api_config();
  config.in_flight = 7;
  config.timeout_ms = 1234;
  config.divisor = TOKAVG_DIVISOR_WEIGHTS;
  tokavg_context_t *ctx = api_open(&config);
  described(ctx, "\"in_flight\": 7");
  described(ctx, "\"timeout_ms\": 1234");
  described(ctx, "\"divisor\": \"weights\"");
  described(ctx, "\"gradient_reduction\": \"mean\"");
  described(ctx, "\"overridden\": []");
  described(ctx, "\"failed\": null");
  (void)api_reduce(ctx);
  described(ctx, "\"steps\": 1");
  OK(ctx, tokavg_finalize(ctx));
  described(ctx, "\"finalized\": true");
  api_free(ctx);
}

static void the_version(void **state) {
  (void)state;
  assert_string_equal(tokavg_version(), TOKAVG_VERSION_STRING);
  assert_int_equal(tokavg_abi_version(), TOKAVG_ABI_VERSION);
}

static void status_names(void **state) {
  (void)state;
  static const char *const names[] = {
      "OK",           "ERR_ARGUMENT", "ERR_CONFIG",      "ERR_STATE",     "ERR_STALE",   "ERR_LABEL",   "ERR_WEIGHT",
      "ERR_OVERFLOW", "ERR_COPIES",   "ERR_PEER",        "ERR_DESYNC",    "ERR_TIMEOUT", "ERR_ABORTED", "ERR_TRANSPORT",
      "ERR_DEVICE",   "ERR_MEMORY",   "ERR_UNSUPPORTED", "ERR_NOT_BUILT", "ERR_HANDLE",  "ERR_INTERNAL"};
  for (int32_t i = 0; i < 20; i++) {
    assert_memory_equal(tokavg_status_name(-i), "TOKAVG_", 7);
    assert_string_equal(tokavg_status_name(-i) + 7, names[i]);
  }
  assert_string_equal(tokavg_status_name(TOKAVG_PENDING), "TOKAVG_PENDING");
  assert_string_equal(tokavg_status_name(TOKAVG_EMPTY), "TOKAVG_EMPTY");
  static const int32_t unknown[] = {3, -20, INT32_MAX, INT32_MIN};
  for (int i = 0; i < 4; i++) assert_string_equal(tokavg_status_name(unknown[i]), "TOKAVG_UNKNOWN_STATUS");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults),     cmocka_unit_test(a_longer_struct), cmocka_unit_test(sizes),
      cmocka_unit_test(unset_fields), cmocka_unit_test(ranges),          cmocka_unit_test(the_ends_of_the_ranges),
      cmocka_unit_test(ignore_index), cmocka_unit_test(descriptions),    cmocka_unit_test(the_version),
      cmocka_unit_test(status_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
