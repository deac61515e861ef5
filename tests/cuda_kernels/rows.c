/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_kernels/rows.h"

#include <stdlib.h>
#include <string.h>

#include "support/unit.h"

enum { kAlignment = 256, kNanByte = 0xff, kCanaryByte = 0xa5 };

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
  place.size = place.first + (size_t)rows->rows * place.pitch;
  place.memory = aligned_alloc(kAlignment, (place.size + kAlignment - 1) / kAlignment * kAlignment);
  assert_non_null(place.memory);
  memset(place.memory, filler, place.size);
  return place;
}

static unsigned char *place_row(const place_t *place, int64_t r) {
  return place->memory + place->first + (size_t)r * place->pitch;
}

static void place_check_gaps(const place_t *place) {
  for (int64_t r = 0; r + 1 < place->rows; ++r) {
    for (const unsigned char *at = place_row(place, r) + place->row; at < place_row(place, r + 1); ++at) {
      assert_int_equal(*at, place->filler);
    }
  }
}

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t row_stride) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_CUDA, row_stride, 1};
}

static void *copy_of_rows(const place_t *place) {
  unsigned char *copy = malloc((size_t)place->rows * place->row);
  assert_non_null(copy);
  for (int64_t r = 0; r < place->rows; ++r) memcpy(copy + (size_t)r * place->row, place_row(place, r), place->row);
  return copy;
}

static internal_outcome_t outcome_of(const kernels_cell_t *cell) {
  internal_outcome_t outcome = {.status = cell->status};
  outcome.tokens = (int64_t)cell->loss_tokens;
  outcome.nonfinite = (int64_t)cell->nonfinite;
  outcome.sum = cell->losses;
  return outcome;
}

simd_results_t rows_run(const simd_rows_t *rows, kernels_path_t path) {
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
  const kernels_multiplier_t scale = {.scale = 1, .has_factor = 1, .factor = rows->factor};
  const kernels_cell_t cell = kernels_cross_entropy(&ce, -100, 0, &scale, path);
  if (cell.status != TOKAVG_OK) fail_msg("%s", cell.text);
  assert_int_equal(cell.bad_labels, 0);
  results.outcome = outcome_of(&cell);

  place_check_gaps(&logits);
  if (!rows->no_gradient) results.gradient = copy_of_rows(rows->in_place ? &logits : &gradient);
  if (!rows->in_place) {
    for (int64_t r = 0; r < rows->rows; ++r) {
      assert_memory_equal(place_row(&logits, r), (const unsigned char *)rows->logits + (size_t)r * logits.row,
                          logits.row);
    }
    if (!rows->no_gradient) place_check_gaps(&gradient);
  }
  free(logits.memory);
  free(gradient.memory);
  return results;
}

int rows_paths(const simd_rows_t *rows, kernels_path_t paths_out[KERNELS_PATHS]) {
  int n = 0;
  for (int path = KERNELS_CLUSTERS; path < KERNELS_PATHS; ++path) {
    if (kernels_can((kernels_path_t)path, rows->vocab, rows->dtype)) paths_out[n++] = (kernels_path_t)path;
  }
  return n;
}
