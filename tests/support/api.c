/* SPDX-License-Identifier: Apache-2.0 */
#include "support/unit.h"

#include "support/api.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

tokavg_config_t api_config(void) {
  tokavg_config_t config;
  assert_int_equal(tokavg_config_init(&config, (uint32_t)sizeof config), TOKAVG_OK);
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.flags = TOKAVG_CONFIG_NO_ENV;
  return config;
}

tokavg_context_t *api_open(const tokavg_config_t *config) {
  tokavg_context_t *ctx = NULL;
  OK(NULL, tokavg_init(config, &ctx));
  assert_non_null(ctx);
  return ctx;
}

tokavg_context_t *api_self(void) {
  const tokavg_config_t config = api_config();
  return api_open(&config);
}

void api_free(tokavg_context_t *ctx) { OK(NULL, tokavg_free(ctx)); }

struct opening {
  tokavg_config_t config;
  tokavg_context_t *ctx;
  tokavg_status_t status;
};

static void *open_rank(void *argument) {
  struct opening *opening = argument;
  opening->status = tokavg_init(&opening->config, &opening->ctx);
  return NULL;
}

/* Makes both ranks at the same time. */
static void open_both(const tokavg_config_t config[2], struct opening rank[2]) {
  tokavg_threads_t *group = NULL;
  OK(NULL, tokavg_threads_create(2, &group));
  for (int r = 0; r < 2; r++) {
    rank[r] = (struct opening){config[r], NULL, 1};
    rank[r].config.comm_kind = TOKAVG_COMM_THREADS;
    rank[r].config.comm = group;
    rank[r].config.comm_rank = r;
  }
  pthread_t other;
  assert_int_equal(pthread_create(&other, NULL, open_rank, &rank[1]), 0);
  open_rank(&rank[0]);
  pthread_join(other, NULL);
  assert_int_equal(tokavg_threads_free(group), TOKAVG_OK);
}

void api_open_two(const tokavg_config_t *config, tokavg_context_t *ctx_out[2]) {
  api_open_ranks((tokavg_config_t[]){*config, *config}, ctx_out);
}

void api_open_ranks(const tokavg_config_t config[2], tokavg_context_t *ctx_out[2]) {
  struct opening rank[2];
  open_both(config, rank);
  OK(NULL, rank[0].status);
  assert_int_equal(rank[1].status, TOKAVG_OK);
  for (int r = 0; r < 2; r++) ctx_out[r] = rank[r].ctx;
}

void api_refuse_ranks(const tokavg_config_t config[2], const tokavg_status_t status[2]) {
  struct opening rank[2];
  tokavg_config_t impatient[2] = {config[0], config[1]};
  for (int r = 0; r < 2; r++) impatient[r].timeout_ms = 20000;
  open_both(impatient, rank);
  for (int r = 0; r < 2; r++) {
    assert_string_equal(tokavg_status_name(rank[r].status), tokavg_status_name(status[r]));
    assert_null(rank[r].ctx);
  }
}

const char *api_text(tokavg_context_t *ctx) {
  static char text[4096];
  assert_int_equal(tokavg_last_error(ctx, text, (int64_t)sizeof text, NULL), TOKAVG_OK);
  return text;
}

tokavg_array_t api_array(const void *data, int32_t dtype) {
  return (tokavg_array_t){.data = (void *)(uintptr_t)data, .dtype = dtype};
}

tokavg_labels_t api_labels(const int32_t *labels, int64_t rows, int64_t cols) {
  return (tokavg_labels_t){.struct_size = (uint32_t)sizeof(tokavg_labels_t),
                           .rows = rows,
                           .cols = cols,
                           .labels = api_array(labels, TOKAVG_DTYPE_I32)};
}

tokavg_loss_t api_value(int32_t kind, const double *value, int64_t tokens) {
  return (tokavg_loss_t){.struct_size = (uint32_t)sizeof(tokavg_loss_t),
                         .kind = kind,
                         .losses = api_array(value, TOKAVG_DTYPE_F64),
                         .tokens = tokens};
}

tokavg_ticket_t api_reduce(tokavg_context_t *ctx) {
  tokavg_ticket_t ticket = 0;
  OK(ctx, tokavg_reduce(ctx, NULL, NULL, &ticket));
  assert_true(ticket > 0);
  return ticket;
}

tokavg_result_t api_result(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t what, tokavg_status_t status) {
  tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
  const tokavg_status_t got = tokavg_wait(ctx, ticket, what, -1, &result);
  if (got != status) fail_msg("tokavg_wait: %s: %s", tokavg_status_name(got), api_text(ctx));
  return result;
}

double api_factor(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t term, int32_t kind) {
  double factor = -1;
  OK(ctx, tokavg_factor(ctx, ticket, term, kind, &factor));
  return factor;
}

void api_still_works(tokavg_context_t *ctx) {
  OK(ctx, tokavg_count_add(ctx, 0, 8, 0, 1));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 8);
  assert_int_equal(result.failed_ranks, 0);
}

uint64_t api_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

void api_untouched(const void *memory, int byte, size_t n) {
  const unsigned char *bytes = memory;
  for (size_t i = 0; i < n; i++) {
    if (bytes[i] != byte) fail_msg("byte %zu was written: 0x%02x", i, bytes[i]);
  }
}

void api_expect(tokavg_context_t *ctx, tokavg_status_t got, tokavg_status_t status, const char *const *words,
                const char *call, const char *file, int line) {
  if (got != status) {
    print_error("%s returned %s instead of %s: \"%s\"\n", call, tokavg_status_name(got), tokavg_status_name(status),
                api_text(ctx));
    _fail(file, line);
  }
  for (; words != NULL && *words != NULL; words++) {
    if (strstr(api_text(ctx), *words) != NULL) continue;
    print_error("%s: \"%s\" is not in the text \"%s\"\n", call, *words, api_text(ctx));
    _fail(file, line);
  }
}

static const char *space(const char *at) {
  while (isspace((unsigned char)*at)) at++;
  return at;
}

static const char *json_value(const char *at, int depth);

/* After the closing quote, or NULL. */
static const char *json_string(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++) {
    if ((unsigned char)*at < 0x20) return NULL;
    if (*at == '\\' && *++at == '\0') return NULL;
  }
  return at + 1;
}

/* An object or an array, from its opening bracket. */
static const char *json_list(const char *at, int depth) {
  const int object = *at == '{';
  const char close = object ? '}' : ']';
  at = space(at + 1);
  if (*at == close) return at + 1;
  for (;;) {
    if (object) {
      at = json_string(space(at));
      if (at == NULL || *(at = space(at)) != ':') return NULL;
      at++;
    }
    at = json_value(at, depth + 1);
    if (at == NULL) return NULL;
    at = space(at);
    if (*at == close) return at + 1;
    if (*at++ != ',') return NULL;
  }
}

static const char *json_value(const char *at, int depth) {
  static const char *const words[] = {"true", "false", "null"};
  at = space(at);
  if (depth > 100) return NULL;
  if (*at == '{' || *at == '[') return json_list(at, depth);
  if (*at == '"') return json_string(at);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strncmp(at, words[i], strlen(words[i])) == 0) return at + strlen(words[i]);
  }
  const size_t digits = strspn(at, "+-.eE0123456789");
  return digits > 0 ? at + digits : NULL;
}

int api_is_json_object(const char *text) {
  if (*space(text) != '{') return 0;
  const char *end = json_value(text, 0);
  return end != NULL && *space(end) == '\0';
}
