/* SPDX-License-Identifier: Apache-2.0 */
/* A few rows of one kind with their labels and weights. */
#ifndef TOKAVG_TESTS_SUPPORT_BATCH_H
#define TOKAVG_TESTS_SUPPORT_BATCH_H

#include <stdint.h>

#include "support/simd.h"

typedef struct batch {
  simd_rows_t rows; /* factor 1, no weights and nothing special until the test says so */
  int64_t *labels;  /* those of the first rows where groups and blocks begin and end, `turn` edges later */
  double *weights;  /* -2 to 2 */
  void *logits;
} batch_t;

batch_t batch_make(int kind, int32_t dtype, int64_t rows, int64_t vocab, int64_t turn, uint64_t *random);
void batch_set(batch_t *batch, int64_t row, int64_t column, double logit);
void batch_free(batch_t *batch);

#endif
