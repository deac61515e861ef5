/* SPDX-License-Identifier: Apache-2.0 */
/* workloads NAME CALLS: so many calls of one kind, for a tool that counts their instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tokavg/tokavg.h>

enum { kMost = 4096 };

static tokavg_context_t *ctx;
static int64_t labels[kMost];
static float losses[kMost], logits[kMost], gradient[kMost];

static tokavg_labels_t view(int64_t cols) {
  tokavg_labels_t l = {.struct_size = sizeof l, .rows = 1, .cols = cols};
  l.labels = (tokavg_array_t){.data = labels, .dtype = TOKAVG_DTYPE_I64, .memory = TOKAVG_MEMORY_HOST};
  return l;
}

static tokavg_array_t floats(float *data) {
  return (tokavg_array_t){.data = data, .dtype = TOKAVG_DTYPE_F32, .memory = TOKAVG_MEMORY_HOST};
}

static tokavg_status_t count(int64_t cols) {
  const tokavg_labels_t l = view(cols);
  return tokavg_count(ctx, &l, NULL);
}

static tokavg_status_t reduce(void) {
  tokavg_ticket_t ticket;
  const tokavg_status_t status = tokavg_count_add(ctx, 0, 1000, 0, 1);
  return status == TOKAVG_OK ? tokavg_reduce(ctx, NULL, NULL, &ticket) : status;
}

static tokavg_status_t loss(int64_t cols) {
  const tokavg_labels_t l = view(cols);
  const tokavg_loss_t call = {.struct_size = sizeof call,
                              .kind = TOKAVG_LOSS_TOKEN_LOSSES,
                              .rows = 1,
                              .cols = cols,
                              .losses = floats(losses),
                              .labels = &l};
  return tokavg_loss(ctx, TOKAVG_OPEN, &call, NULL);
}

static tokavg_status_t cross_entropy(int with_gradient) {
  const tokavg_labels_t l = view(1);
  tokavg_cross_entropy_t call = {.struct_size = sizeof call, .vocab = kMost, .labels = &l, .logits = floats(logits)};
  if (with_gradient) call.gradient_out = floats(gradient);
  return tokavg_cross_entropy(ctx, TOKAVG_OPEN, &call, NULL);
}

static tokavg_status_t run(const char *name) {
  if (strcmp(name, "count_64") == 0) return count(64);
  if (strcmp(name, "count_4096") == 0) return count(4096);
  if (strcmp(name, "reduce") == 0) return reduce();
  if (strcmp(name, "loss_256") == 0) return loss(256);
  if (strcmp(name, "cross_entropy_4096") == 0) return cross_entropy(0);
  if (strcmp(name, "cross_entropy_gradient_4096") == 0) return cross_entropy(1);
  return TOKAVG_ERR_ARGUMENT;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  tokavg_config_t config;
  if (tokavg_config_init(&config, sizeof config) != TOKAVG_OK) return 2;
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  if (tokavg_init(&config, &ctx) != TOKAVG_OK) return 2;
  for (int i = 0; i < kMost; ++i) {
    labels[i] = i % 7 != 0 ? i : -100;
    losses[i] = (float)(i % 11);
    logits[i] = (float)(i * 37 % 101) / 8;
  }
  labels[0] = 5; /* the one of cross entropy */
  int status = 0;
  for (int i = atoi(argv[2]); i > 0 && status == 0; --i) {
    if (run(argv[1]) != TOKAVG_OK) status = 1;
  }
  if (status != 0) (void)fprintf(stderr, "%s failed\n", argv[1]);
  tokavg_free(ctx);
  return status;
}
