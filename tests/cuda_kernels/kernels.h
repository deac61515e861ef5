/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the CUDA device for tests in C: what arrays lie in is copied to the device and back round each call,
   so that arrays are as easily made and looked at as on the host. Strides are used as they are given. */
#ifndef TOKAVG_TESTS_CUDA_KERNELS_KERNELS_H
#define TOKAVG_TESTS_CUDA_KERNELS_KERNELS_H

#include <stdint.h>

#include "support/internal.h"
#include "tokavg/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call added to its cell, or the status and text of what it threw. */
typedef struct kernels_cell {
  tokavg_status_t status;
  char text[256];
  uint64_t tokens, weighted, bad_weights, bad_labels, loss_tokens, nonfinite;
  internal_sum_t weights, losses;
} kernels_cell_t;

/* Where a multiplier's parts are not on the device, they are 1. */
typedef struct kernels_multiplier {
  double scale;
  int has_factor, has_scale_device; /* on the device */
  double factor;
  float scale_device;
} kernels_multiplier_t;

typedef enum kernels_path {
  KERNELS_CHOSEN,   /* as a caller gets it */
  KERNELS_CLUSTERS, /* one read */
  KERNELS_BLOCKS,   /* two reads */
  KERNELS_PATHS
} kernels_path_t;

/* Whether this device can take that path for rows of so many logits. */
int kernels_can(kernels_path_t path, int64_t vocab, int32_t dtype);
int kernels_is_emulated(void);

/* From now on calls add to what is in the cell (keep != 0), or begin with an empty one. */
void kernels_keep_cell(int keep);

/* From now on (direct != 0) arrays lie in device memory already, and are used where they are. */
void kernels_use_device_arrays(int direct);
/* NULL: there is not so much. */
void *kernels_device_memory(int64_t size);
void kernels_device_free(void *memory);
void kernels_device_write(void *to, const void *from, int64_t size);
void kernels_device_read(const void *from, void *to, int64_t size);

kernels_cell_t kernels_count(const tokavg_labels_t *labels, int64_t ignore_index, int weights_divide);
/* labels may be NULL. */
kernels_cell_t kernels_token_losses(const tokavg_array_t *losses, int64_t rows, int64_t cols,
                                    const tokavg_labels_t *labels, int64_t ignore_index, int weights_divide);
kernels_cell_t kernels_cross_entropy(const tokavg_cross_entropy_t *ce, int64_t ignore_index, int weights_divide,
                                     const kernels_multiplier_t *gradient_scale, kernels_path_t path);
kernels_cell_t kernels_scale(const tokavg_scale_item_t *items, int64_t n_items, const kernels_multiplier_t *multiplier);

#ifdef __cplusplus
}
#endif

#endif
