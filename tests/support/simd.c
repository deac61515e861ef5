/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* posix_memalign */
#include "support/simd.h"

#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

enum { kAlignment = 64, kNanByte = 0xff, kCanaryByte = 0xa5 };

int simd_targets(const char *names_out[SIMD_MOST_TARGETS]) {
  static const char *const known[SIMD_MOST_TARGETS] = {"avx512", "avx2", "neon", "portable"};
  int found = 0;
  for (int i = 0; i < SIMD_MOST_TARGETS; ++i) {
    if (internal_use_kernels(known[i], 1) == TOKAVG_OK) names_out[found++] = known[i];
  }
  assert_true(found > 0);
  return found;
}

void simd_use(const char *name, int32_t threads) { assert_int_equal(internal_use_kernels(name, threads), TOKAVG_OK); }

size_t simd_size_of(int32_t dtype) {
  return dtype == TOKAVG_DTYPE_F64 ? sizeof(double) : dtype == TOKAVG_DTYPE_F32 ? sizeof(float) : sizeof(uint16_t);
}

double simd_read(const void *data, int32_t dtype, int64_t i) {
  if (dtype == TOKAVG_DTYPE_F64) return ((const double *)data)[i];
  if (dtype == TOKAVG_DTYPE_F32) return (double)((const float *)data)[i];
  return internal_from_half(((const uint16_t *)data)[i], dtype);
}

void simd_write(void *data, int32_t dtype, int64_t i, double value) {
  if (dtype == TOKAVG_DTYPE_F64) {
    ((double *)data)[i] = value;
  } else if (dtype == TOKAVG_DTYPE_F32) {
    ((float *)data)[i] = (float)value;
  } else {
    ((uint16_t *)data)[i] = internal_to_half(value, dtype);
  }
}

/* Rows of vocab elements with `spare` ones between them, `offset` elements after a multiple of kAlignment. */
typedef struct place {
  unsigned char *memory;
  size_t size, first, row, pitch;
  int64_t rows;
  int filler;
} place_t;

static place_t place_make(const simd_rows_t *rows, int64_t offset, int filler) {
  const size_t element = simd_size_of(rows->dtype);
  place_t place = {.rows = rows->rows, .filler = filler};
  place.first = (size_t)offset * element;
  place.row = (size_t)rows->vocab * element;
  place.pitch = (size_t)(rows->vocab + rows->spare) * element;
  place.size = place.first + (size_t)rows->rows * place.pitch - (size_t)rows->spare * element;
  void *memory = NULL;
  assert_int_equal(posix_memalign(&memory, kAlignment, place.size), 0);
  place.memory = memory;
  memset(place.memory, filler, place.size);
  return place;
}

static unsigned char *place_row(const place_t *place, int64_t r) {
  return place->memory + place->first + (size_t)r * place->pitch;
}

static int all_bytes(const unsigned char *begin, const unsigned char *end, int byte) {
  int all = 1;
  for (; begin < end; ++begin) all &= *begin == byte;
  return all;
}

static void place_check_around(const place_t *place) {
  assert_true(all_bytes(place->memory, place->memory + place->first, place->filler));
  for (int64_t r = 0; r + 1 < place->rows; ++r) {
    assert_true(all_bytes(place_row(place, r) + place->row, place_row(place, r + 1), place->filler));
  }
}

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t row_stride) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_HOST, row_stride, 1};
}

static void *copy_of_rows(const place_t *place) {
  unsigned char *copy = malloc((size_t)place->rows * place->row);
  assert_non_null(copy);
  for (int64_t r = 0; r < place->rows; ++r) memcpy(copy + (size_t)r * place->row, place_row(place, r), place->row);
  return copy;
}

simd_results_t simd_run(const simd_rows_t *rows) {
  const size_t n = (size_t)rows->rows;
  simd_results_t results = {.losses = malloc(n * sizeof(float)), .lse = malloc(n * sizeof(float))};
  results.argmax = malloc(n * sizeof(int32_t));
  place_t logits = place_make(rows, rows->logits_offset, kNanByte);
  for (int64_t r = 0; r < rows->rows; ++r) {
    memcpy(place_row(&logits, r), (const unsigned char *)rows->logits + (size_t)r * logits.row, logits.row);
  }
  place_t gradient = {0};
  if (!rows->in_place && !rows->no_gradient) gradient = place_make(rows, rows->gradient_offset, kCanaryByte);

  tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = rows->rows, .cols = 1};
  labels.labels = array_of((void *)(uintptr_t)rows->labels, TOKAVG_DTYPE_I64, 1);
  if (rows->weights != NULL) labels.weights = array_of((void *)(uintptr_t)rows->weights, TOKAVG_DTYPE_F64, 1);
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = rows->vocab, .labels = &labels};
  ce.label_smoothing = rows->smoothing;
  ce.z_loss = rows->z_loss;
  ce.logit_softcap = rows->softcap;
  ce.logits = array_of(place_row(&logits, 0), rows->dtype, rows->vocab + rows->spare);
  if (rows->in_place) {
    ce.gradient_out = ce.logits;
  } else if (!rows->no_gradient) {
    ce.gradient_out = array_of(place_row(&gradient, 0), rows->dtype, rows->vocab + rows->spare);
  }
  ce.losses_out = array_of(results.losses, TOKAVG_DTYPE_F32, 1);
  ce.lse_out = array_of(results.lse, TOKAVG_DTYPE_F32, 1);
  ce.argmax_out = array_of(results.argmax, TOKAVG_DTYPE_I32, 1);
  results.outcome = internal_cross_entropy(&ce, -100, rows->factor);
  assert_int_equal(results.outcome.status, TOKAVG_OK);

  place_check_around(&logits);
  if (!rows->no_gradient) results.gradient = copy_of_rows(rows->in_place ? &logits : &gradient);
  if (!rows->in_place) {
    for (int64_t r = 0; r < rows->rows; ++r) {
      assert_memory_equal(place_row(&logits, r), (const unsigned char *)rows->logits + (size_t)r * logits.row,
                          logits.row);
    }
    if (!rows->no_gradient) place_check_around(&gradient);
  }
  free(logits.memory);
  free(gradient.memory);
  return results;
}

void simd_free(simd_results_t *results) {
  free(results->losses);
  free(results->lse);
  free(results->argmax);
  free(results->gradient);
}

void simd_assert_same(const simd_rows_t *rows, const simd_results_t *a, const simd_results_t *b) {
  const size_t n = (size_t)rows->rows;
  assert_memory_equal(a->losses, b->losses, n * sizeof(float));
  assert_memory_equal(a->lse, b->lse, n * sizeof(float));
  assert_memory_equal(a->argmax, b->argmax, n * sizeof(int32_t));
  assert_true(a->outcome.tokens == b->outcome.tokens && a->outcome.nonfinite == b->outcome.nonfinite);
  assert_true(a->outcome.sum.units == b->outcome.sum.units);
  if (a->gradient == NULL || b->gradient == NULL) return;
  assert_memory_equal(a->gradient, b->gradient, n * (size_t)rows->vocab * simd_size_of(rows->dtype));
}
