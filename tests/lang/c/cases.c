/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void bad(const char *what) {
  (void)fprintf(stderr, "the cases: %s\n", what);
  exit(2);
}

static void word(FILE *file, const char *expected) {
  char got[64];
  if (fscanf(file, "%63s", got) != 1 || strcmp(got, expected) != 0) bad(expected);
}

static int64_t integer(FILE *file) {
  int64_t value;
  if (fscanf(file, "%" SCNd64, &value) != 1) bad("an integer is missing");
  return value;
}

static int named(FILE *file, const char *name) {
  word(file, name);
  return (int)integer(file);
}

static double bits(FILE *file) {
  uint64_t value;
  double number;
  if (fscanf(file, "%" SCNx64, &value) != 1) bad("a number is missing");
  memcpy(&number, &value, sizeof number);
  return number;
}

static void *room(size_t count, size_t size) {
  void *memory = calloc(count + 1, size);
  if (memory == NULL) bad("no memory");
  return memory;
}

/* count elements of a dtype, from the file. */
static tokavg_array_t read_array(FILE *file, int32_t dtype, size_t count) {
  tokavg_array_t array = {.dtype = dtype};
  if (dtype == 0) return array;
  array.data = room(count, sizeof(double));
  for (size_t i = 0; i < count; i++) {
    switch (dtype) {
      case TOKAVG_DTYPE_I32: ((int32_t *)array.data)[i] = (int32_t)integer(file); break;
      case TOKAVG_DTYPE_I64: ((int64_t *)array.data)[i] = integer(file); break;
      case TOKAVG_DTYPE_U8: ((uint8_t *)array.data)[i] = (uint8_t)integer(file); break;
      case TOKAVG_DTYPE_F32: ((float *)array.data)[i] = (float)bits(file); break;
      case TOKAVG_DTYPE_F64: ((double *)array.data)[i] = bits(file); break;
      default: bad("an unknown dtype");
    }
  }
  return array;
}

static void read_call(FILE *file, call_t *call) {
  memset(call, 0, sizeof *call);
  tokavg_labels_t *labels = &call->labels;
  labels->struct_size = sizeof *labels;
  word(file, "call");
  labels->rows = named(file, "rows");
  labels->cols = named(file, "cols");
  labels->shift = named(file, "shift");
  labels->term = named(file, "term");
  const int32_t label_dtype = named(file, "labels"), losses = named(file, "losses"), weights = named(file, "weights");
  const int32_t mask = named(file, "mask") != 0 ? TOKAVG_DTYPE_U8 : 0;
  if (named(file, "same") != 0) labels->flags = TOKAVG_LABELS_SAME_MICROBATCH;
  call->discard = named(file, "discard");
  const size_t count = (size_t)(labels->rows * labels->cols);
  labels->labels = read_array(file, label_dtype, count);
  call->losses = read_array(file, losses, count);
  labels->weights = read_array(file, weights, count);
  labels->mask = read_array(file, mask, count);
}

static void read_config(FILE *file, tokavg_config_t *config) {
  if (tokavg_config_init(config, sizeof *config) != TOKAVG_OK) bad("tokavg_config_init failed");
  word(file, "config");
  config->gradient_reduction = (int32_t)integer(file);
  config->gradient_ranks = (int32_t)integer(file);
  config->label_copies = (int32_t)integer(file);
  config->microbatch_shards = (int32_t)integer(file);
  config->divisor = (int32_t)integer(file);
  config->terms = (int32_t)integer(file);
  config->ignore_index = integer(file);
  config->accumulation_divisor = bits(file);
  config->timeout_ms = 60000;
}

static void read_rank(FILE *file, int index, rank_input_t *rank) {
  if (named(file, "rank") != index) bad("ranks are out of order");
  rank->n_calls = named(file, "calls");
  rank->done = named(file, "done");
  rank->asks_only = named(file, "asks");
  rank->calls = room((size_t)rank->n_calls, sizeof *rank->calls);
  for (int i = 0; i < rank->n_calls; i++) read_call(file, &rank->calls[i]);
}

int read_count(FILE *file) { return named(file, "cases"); }

void read_case(FILE *file, contract_case_t *into) {
  word(file, "case");
  if (fscanf(file, "%63s", into->id) != 1) bad("an id is missing");
  into->ranks = named(file, "ranks");
  into->self = named(file, "self");
  into->n_steps = named(file, "steps");
  read_config(file, &into->config);
  into->steps = room((size_t)into->n_steps, sizeof *into->steps);
  for (int i = 0; i < into->n_steps; i++) {
    step_t *step = &into->steps[i];
    word(file, "step");
    step->error = named(file, "error");
    step->losses = named(file, "losses");
    step->ranks = room((size_t)into->ranks, sizeof *step->ranks);
    for (int r = 0; r < into->ranks; r++) read_rank(file, r, &step->ranks[r]);
  }
}

void free_case(contract_case_t *c) {
  for (int i = 0; i < c->n_steps; i++) {
    for (int r = 0; r < c->ranks; r++) {
      rank_input_t *rank = &c->steps[i].ranks[r];
      for (int k = 0; k < rank->n_calls; k++) {
        call_t *call = &rank->calls[k];
        free(call->labels.labels.data);
        free(call->labels.mask.data);
        free(call->labels.weights.data);
        free(call->losses.data);
      }
      free(rank->calls);
    }
    free(c->steps[i].ranks);
  }
  free(c->steps);
}
