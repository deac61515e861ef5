/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of a few rows by the kernels: what support/simd.h is to the vector kernels, for the same checks. */
#ifndef TOKAVG_TESTS_CUDA_KERNELS_ROWS_H
#define TOKAVG_TESTS_CUDA_KERNELS_ROWS_H

#include "cuda_kernels/kernels.h"
#include "support/simd.h"

/* Fails if anything is written that is not part of a result. What lies around the logits is NaN. */
simd_results_t rows_run(const simd_rows_t *rows, kernels_path_t path);

/* The paths of this device for rows of that kind. */
int rows_paths(const simd_rows_t *rows, kernels_path_t paths_out[KERNELS_PATHS]);

#endif
