/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of a few rows through the kernels in use (internal_use_kernels), wherever the rows lie in memory. */
#ifndef TOKAVG_TESTS_SUPPORT_SIMD_H
#define TOKAVG_TESTS_SUPPORT_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "support/internal.h"

enum { SIMD_MOST_TARGETS = 4 };

/* The vector kernels that this processor has, best first. Fails where there are none. */
int simd_targets(const char *names_out[SIMD_MOST_TARGETS]);
/* From now on; fails where the processor does not have them. */
void simd_use(const char *name, int32_t threads);

size_t simd_size_of(int32_t dtype);
double simd_read(const void *data, int32_t dtype, int64_t i);
void simd_write(void *data, int32_t dtype, int64_t i, double value); /* rounded once */

/* One call. Labels are in one column, so that rows of logits, labels and results are the same. */
typedef struct simd_rows {
  int32_t dtype;
  int64_t rows, vocab;
  const void *logits; /* rows * vocab */
  const int64_t *labels;
  const double *weights; /* or NULL */
  double smoothing, z_loss, softcap, factor;
  int in_place, no_gradient;
  /* Where the call finds its logits and puts its gradient: elements between rows, and from a multiple of 64 bytes. */
  int64_t spare, logits_offset, gradient_offset;
} simd_rows_t;

typedef struct simd_results {
  internal_outcome_t outcome;
  float *losses, *lse; /* rows */
  int32_t *argmax;
  void *gradient; /* rows * vocab */
} simd_results_t;

/* Fails if anything is written that is not part of a result. What lies around the logits is NaN, and the memory ends
   with the last row, so that a sanitizer sees who reads on. */
simd_results_t simd_run(const simd_rows_t *rows);
void simd_free(simd_results_t *results);

/* The same bits, NaN included. The gradients may be missing from either. */
void simd_assert_same(const simd_rows_t *rows, const simd_results_t *a, const simd_results_t *b);

#endif
