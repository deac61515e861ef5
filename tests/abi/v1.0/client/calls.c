/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that the cases do not need. Numbers are worked out by hand. */
#include <math.h>
#include <string.h>

#include "client.h"

static tokavg_array_t f32(float *data) {
  return (tokavg_array_t){.data = data, .dtype = TOKAVG_DTYPE_F32, .memory = TOKAVG_MEMORY_HOST};
}

/* Two positions, four equal logits each; one-based class 3 in the second column is scored: -log(1/4), p - 1 there. */
static void cross_entropy(tokavg_context_t *ctx) {
  static const int32_t classes[2] = {1, 3};
  float logits[8] = {0};
  float gradient[8];
  float losses[2] = {-1, -1};
  float lse[2] = {-1, -1};
  int32_t argmax[2] = {-7, -7};
  float backward = -1;
  double sum = -1;
  memset(gradient, 0x5a, sizeof gradient);
  tokavg_labels_t labels = {.struct_size = sizeof labels, .label_base = 1, .shift = 1, .rows = 1, .cols = 2};
  labels.labels = (tokavg_array_t){.data = (void *)(uintptr_t)classes, .dtype = TOKAVG_DTYPE_I32};
  tokavg_ticket_t ticket = 0;
  OK(tokavg_count(ctx, &labels, NULL));
  OK(tokavg_reduce(ctx, NULL, NULL, &ticket));
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = 4, .labels = &labels, .loss_scale = 8};
  ce.logits = f32(logits);
  ce.gradient_out = f32(gradient);
  ce.losses_out = f32(losses);
  ce.lse_out = f32(lse);
  ce.argmax_out = (tokavg_array_t){.data = argmax, .dtype = TOKAVG_DTYPE_I32};
  ce.backward_out = &backward;
  ce.sum_out = &sum;
  OK(tokavg_cross_entropy(ctx, ticket, &ce, NULL));
  /* Every rank has one token and gradients are averaged: the factor is 1. */
  const double log4 = log(4);
  CHECK(close_to(sum, log4) && close_to(backward, 8 * log4));
  CHECK(losses[0] == 0 && close_to(losses[1], log4) && close_to(lse[0], log4) && lse[1] == 0);
  CHECK(argmax[0] == 1 && argmax[1] == -1);
  for (int k = 0; k < 4; k++) CHECK(close_to(gradient[k], k == 2 ? -6 : 2) && gradient[4 + k] == 0);
  tokavg_result_t result = {.struct_size = sizeof result};
  OK(tokavg_flush(ctx, NULL));
  OK(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, &result));
  CHECK(close_to(result.mean_loss[0], log4));
}

/* A loader that knows its counts, and a loss that comes as a mean. */
static void known_counts(tokavg_context_t *ctx, const struct member *member) {
  tokavg_ticket_t ticket = 0;
  OK(tokavg_count_add(ctx, 0, 3, 0, 2));
  OK(tokavg_count_add(ctx, 0, 100, 0, 1));
  OK(tokavg_discard(ctx));
  OK(tokavg_reduce(ctx, NULL, NULL, &ticket));
  const double mean = 2.5;
  tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_MEAN, .tokens = 3};
  loss.losses = (tokavg_array_t){.data = (void *)(uintptr_t)&mean, .dtype = TOKAVG_DTYPE_F64};
  OK(tokavg_loss(ctx, ticket, &loss, NULL));
  OK(tokavg_flush(ctx, NULL));
  tokavg_result_t result = {.struct_size = sizeof result};
  OK(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, &result));
  CHECK(result.tokens[0] == 3 * member->ranks && result.microbatches == 2 * member->ranks);
  CHECK(same(result.mean_loss[0], 2.5) && same(result.loss_sum[0], 7.5 * member->ranks));

  const float *on_device = NULL;
  const tokavg_status_t status = tokavg_factor_device(ctx, ticket, 0, TOKAVG_FACTOR_SCALE, NULL, &on_device);
  CHECK((status == TOKAVG_ERR_STATE || status == TOKAVG_ERR_NOT_BUILT) && on_device == NULL);
  OK(tokavg_release(ctx, ticket));
  CHECK(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, 0, NULL) == TOKAVG_ERR_STALE);
}

static void errors(tokavg_context_t *ctx) {
  char text[512] = "";
  int64_t needed = 0;
  double factor = -1;
  CHECK(tokavg_factor(ctx, 0, 0, TOKAVG_FACTOR_SCALE, &factor) == TOKAVG_ERR_ARGUMENT && factor == -1);
  OK(tokavg_last_error(ctx, text, sizeof text, &needed));
  CHECK(strstr(text, "ticket") != NULL && needed == (int64_t)strlen(text) + 1);
  OK(tokavg_describe(ctx, NULL, 0, &needed));
  CHECK(needed > 2);
}

static void ended(tokavg_context_t *ctx) {
  tokavg_ticket_t ticket = 0;
  OK(tokavg_finalize(ctx));
  CHECK(tokavg_reduce(ctx, NULL, NULL, &ticket) == TOKAVG_ERR_STATE);
  OK(tokavg_free(ctx));
  CHECK(tokavg_free(ctx) == TOKAVG_ERR_HANDLE);
}

static void aborted(const struct member *member) {
  const tokavg_config_t config = base_config(member);
  tokavg_context_t *ctx = open_context(&config);
  tokavg_ticket_t ticket = -9;
  if (ctx == NULL) return;
  OK(tokavg_abort(ctx));
  CHECK(tokavg_reduce(ctx, NULL, NULL, &ticket) == TOKAVG_ERR_ABORTED && ticket == 0);
  OK(tokavg_free(ctx));
}

void run_calls(const struct member *member) {
  const tokavg_config_t config = base_config(member);
  tokavg_context_t *ctx = open_context(&config);
  if (ctx == NULL) return;
  cross_entropy(ctx);
  known_counts(ctx, member);
  errors(ctx);
  ended(ctx);
  aborted(member);
}

void run_without_context(void) {
  char text[64] = "";
  int64_t needed = 0;
  tokavg_context_t *ctx = NULL;
  tokavg_config_t config;
  memset(&config, 0x5a, sizeof config);
  CHECK(tokavg_abi_version() == TOKAVG_ABI_VERSION);
  CHECK(strncmp(tokavg_version(), "1.", 2) == 0);
  CHECK(strcmp(tokavg_status_name(TOKAVG_ERR_TIMEOUT), "TOKAVG_ERR_TIMEOUT") == 0);
  OK(tokavg_config_init(&config, sizeof config));
  CHECK(config.struct_size == sizeof config && config.device_index == -1 && config.ignore_index == -100);
  CHECK(config.comm_kind == 0 && config.log == NULL && config.log_user == NULL && config.timeout_ms == 0);
  CHECK(tokavg_init(&config, &ctx) == TOKAVG_ERR_CONFIG && ctx == NULL);
  OK(tokavg_last_error(NULL, text, sizeof text, &needed));
  CHECK(strstr(text, "comm_kind") != NULL && needed > 0);
  OK(tokavg_describe(NULL, text, sizeof text, &needed));
  CHECK(text[0] == '{' && needed > 2);
  OK(tokavg_free(NULL));
  OK(tokavg_threads_free(NULL));
}
