/* SPDX-License-Identifier: Apache-2.0 */
/* Whether losses and gradients are as near to double arithmetic as they promise to be. */
#ifndef TOKAVG_TESTS_CUDA_KERNELS_ROW_CHECK_H
#define TOKAVG_TESTS_CUDA_KERNELS_ROW_CHECK_H

#include "support/simd.h"

/* The largest relative errors of plain losses, and of their gradients where p is at least exp(-8) of the largest
   other: of float32, of the label's in float32, and of 16 bits before they are rounded (by what the rounding needs at
   least); of the log-sum-exp to its size or 1; and the part of what is allowed that was used, over all. */
typedef struct row_errors {
  double loss, lse, gradient, label_gradient, used;
  int64_t checks;
} row_errors_t;

/* Compares all rows that are scored. */
void row_check(const simd_rows_t *rows, const simd_results_t *got, row_errors_t *worst);
void row_report(const char *what, const row_errors_t *worst);

#endif
