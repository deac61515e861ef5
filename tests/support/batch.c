/* SPDX-License-Identifier: Apache-2.0 */
#include "support/batch.h"

#include <stdlib.h>

#include "support/logits.h"
#include "support/random.h"
#include "support/unit.h"

static int64_t label_of(int64_t i, int64_t vocab, uint64_t *random) {
  static const int64_t edges[] = {0, 63, 64, 1023, 1024, 31, 32, 1022, 62};
  const int64_t edge = i == 1 ? vocab - 1 : edges[i % (int64_t)(sizeof edges / sizeof *edges)];
  return edge < vocab ? edge : random_below(random, vocab);
}

batch_t batch_make(int kind, int32_t dtype, int64_t rows, int64_t vocab, int64_t turn, uint64_t *random) {
  batch_t batch = {.rows = {.dtype = dtype, .rows = rows, .vocab = vocab, .factor = 1}};
  double *row = malloc((size_t)vocab * sizeof *row);
  batch.logits = malloc((size_t)(rows * vocab) * simd_size_of(dtype));
  batch.labels = malloc((size_t)rows * sizeof *batch.labels);
  batch.weights = malloc((size_t)rows * sizeof *batch.weights);
  assert_true(row != NULL && batch.logits != NULL && batch.labels != NULL && batch.weights != NULL);
  for (int64_t r = 0; r < rows; ++r) {
    batch.labels[r] = label_of(r + turn, vocab, random);
    batch.weights[r] = random_unit(random) * 4 - 2;
    logits_make(kind, batch.labels[r], vocab, dtype, random, row);
    for (int64_t k = 0; k < vocab; ++k) batch_set(&batch, r, k, row[k]);
  }
  free(row);
  batch.rows.logits = batch.logits;
  batch.rows.labels = batch.labels;
  return batch;
}

void batch_set(batch_t *batch, int64_t row, int64_t column, double logit) {
  simd_write(batch->logits, batch->rows.dtype, row * batch->rows.vocab + column, logit);
}

void batch_free(batch_t *batch) {
  free(batch->logits);
  free(batch->labels);
  free(batch->weights);
}
