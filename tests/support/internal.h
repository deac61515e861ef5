/* SPDX-License-Identifier: Apache-2.0 */
/* The library's inner functions for tests in C: no exception leaves them, and what they return is plain data. Unlike in
   the public interface strides are used as they are given: 0 is not "contiguous" here. */
#ifndef TOKAVG_TESTS_SUPPORT_INTERNAL_H
#define TOKAVG_TESTS_SUPPORT_INTERNAL_H

#include <stdint.h>

#include "tokavg/types.h"

#ifdef __cplusplus
extern "C" {
#endif

__extension__ typedef __int128 internal_int128_t;

/* A FixedSum: units of 2^-72. */
typedef struct internal_sum {
  internal_int128_t units;
  double value;
  int too_large;
} internal_sum_t;

/* What a kernel returned, or the status and text of what it threw. */
typedef struct internal_outcome {
  tokavg_status_t status;
  char text[256];
  int64_t tokens;
  int64_t weighted_tokens; /* count */
  int64_t nonfinite;       /* losses */
  internal_sum_t sum;      /* of the weights or losses */
} internal_outcome_t;

internal_sum_t internal_sum_doubles(const double *values, int64_t count);
internal_sum_t internal_sum_units(const internal_int128_t *parts, int64_t count);
/* The sum of parts[0], and of the sum of the others, marked as too large if mark is not 0. */
internal_sum_t internal_sum_nested(const internal_int128_t *parts, int64_t count, int mark);
void internal_to_limbs(internal_int128_t units, uint64_t limbs_out[4]);
void internal_marked_to_limbs(internal_int128_t units, uint64_t limbs_out[4]);
internal_sum_t internal_from_limbs(const uint64_t limbs[4], uint64_t tokens);

double internal_from_half(uint16_t bits, int32_t dtype);
uint16_t internal_to_half(double value, int32_t dtype);

/* What the calls below use from now on: "auto" (at first; cross entropy is then the reference), "reference", or vector
   kernels by name; and how many threads. Not TOKAVG_OK where this processor does not have them. */
tokavg_status_t internal_use_kernels(const char *name, int32_t threads);

internal_outcome_t internal_count(const tokavg_labels_t *labels, int64_t ignore_index, int weights_divide);
/* labels may be NULL. */
internal_outcome_t internal_token_losses(const tokavg_array_t *losses, int64_t rows, int64_t cols,
                                         const tokavg_labels_t *labels, int64_t ignore_index, int weights_divide);
/* ce->loss_scale, backward_out and sum_out are not this layer's: factor stands for the first. */
internal_outcome_t internal_cross_entropy(const tokavg_cross_entropy_t *ce, int64_t ignore_index, double factor);
tokavg_status_t internal_scale(void *data, int32_t dtype, int64_t count, double factor);
double internal_read(const void *data, int32_t dtype);
void internal_write(void *out, int32_t dtype, double value);
/* Of the device and of its factory. */
void internal_describe(char *device_out, char *factory_out, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
