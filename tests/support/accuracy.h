/* SPDX-License-Identifier: Apache-2.0 */
/* Whether losses and gradients of the vector kernels are as near to the reference as float32 allows. */
#ifndef TOKAVG_TESTS_SUPPORT_ACCURACY_H
#define TOKAVG_TESTS_SUPPORT_ACCURACY_H

#include <stdint.h>

#include "support/simd.h"

/* The largest errors seen: of lse to its size or 1; relative ones of plain losses and of their float32 gradients (where
   p is at least exp(-8) of the largest other); and of all float32 gradients as a part of what is allowed. */
typedef struct accuracy {
  double loss, lse, gradient, label_gradient, used;
  int64_t checks;
} accuracy_t;

/* The reference's results for the same logits, with gradients in float32 whatever the logits' type. */
simd_results_t accuracy_reference(const simd_rows_t *rows);

/* Compares each row that is scored and finite. */
void accuracy_check(const simd_rows_t *rows, const simd_results_t *got, const simd_results_t *expected,
                    accuracy_t *worst);

#endif
