/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that are not scored are never read: what belongs to them lies where a load ends the program. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda_kernels/rows.h"
#include "support/batch.h"
#include "support/logits.h"

enum { kRows = 5, kCols = 2, kAll = kRows * kCols, kIgnored = -100 };

/* How a token is made one that is not scored. */
typedef enum way { BY_LABEL, BY_MASK, BY_SHIFT, WAYS } way_t;

static unsigned char *memory; /* where all arrays lie, but for what is not to be read */
static unsigned char *hole;   /* freed, and more than a row in the middle of it */
static const int64_t kMemory = (int64_t)16 << 20, kHole = (int64_t)4 << 30;
static int64_t used;

static void begin(void) {
  used = 0;
  kernels_use_device_arrays(1);
}

/* So many bytes, at a multiple of 256. */
static void *take(const void *from, int64_t size) {
  unsigned char *place = memory + used;
  used += (size + 255) / 256 * 256;
  assert_true(used <= kMemory);
  if (from != NULL) kernels_device_write(place, from, size);
  return place;
}

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t row_stride, int64_t col_stride) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_CUDA, row_stride, col_stride};
}

/* Column 0 is at data, column `seen` of the two where it can be read, the other one in the hole. */
static tokavg_array_t half_of(void *seen_data, int32_t dtype, int64_t size, int64_t row_stride, int seen) {
  unsigned char *unseen = hole + kHole / 2;
  const int64_t apart = (unseen - (unsigned char *)seen_data) / size;
  return seen == 0 ? array_of(seen_data, dtype, row_stride, apart)
                   : array_of((unsigned char *)seen_data + apart * size, dtype, row_stride, -apart);
}

/* Labels of kRows x kCols, of which only those of column `seen` are scored. With a shift it is column 1. */
static tokavg_labels_t labels_of(const int64_t *scored, way_t way, int seen) {
  int64_t all[kAll];
  uint8_t mask[kAll];
  for (int i = 0; i < kAll; ++i) {
    const int is_seen = i % kCols == seen;
    all[i] = is_seen || way != BY_LABEL ? scored[i / kCols] : kIgnored;
    mask[i] = is_seen || way != BY_MASK ? 1 : 0;
  }
  tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = kRows, .cols = kCols};
  labels.labels = array_of(take(all, sizeof all), TOKAVG_DTYPE_I64, kCols, 1);
  if (way == BY_MASK) labels.mask = array_of(take(mask, sizeof mask), TOKAVG_DTYPE_U8, kCols, 1);
  if (way == BY_SHIFT) labels.shift = 1;
  return labels;
}

static void losses_and_weights(void **state) {
  (void)state;
  static const int64_t scored[kRows] = {1, 2, 3, 4, 5};
  for (int i = 0; i < WAYS * 2 * 2; ++i) {
    const way_t way = (way_t)(i % WAYS);
    const int seen = way == BY_SHIFT ? 1 : i / WAYS % 2, wide = i / (WAYS * 2);
    begin();
    const float floats[kRows] = {1, 2, 4, 8, 16};
    const double doubles[kRows] = {1, 2, 4, 8, 16}, halves[kRows] = {0.5, 0.5, 0.5, 0.5, 0.5};
    tokavg_labels_t labels = labels_of(scored, way, seen);
    const tokavg_array_t losses = wide ? half_of(take(doubles, sizeof doubles), TOKAVG_DTYPE_F64, 8, 1, seen)
                                       : half_of(take(floats, sizeof floats), TOKAVG_DTYPE_F32, 4, 1, seen);
    labels.weights = half_of(take(halves, sizeof halves), TOKAVG_DTYPE_F64, 8, 1, seen);
    const kernels_cell_t sum = kernels_token_losses(&losses, kRows, kCols, &labels, kIgnored, 0);
    if (sum.status != TOKAVG_OK) fail_msg("%s", sum.text);
    assert_true(sum.loss_tokens == kRows && sum.nonfinite == 0 && sum.losses.value == 15.5);
    const kernels_cell_t count = kernels_count(&labels, kIgnored, 0);
    if (count.status != TOKAVG_OK) fail_msg("%s", count.text);
    assert_true(count.tokens == kRows && count.bad_weights == 0 && count.weights.value == 2.5);
    kernels_use_device_arrays(0);
  }
}

/* Labels in the columns before the shift: no token is there. */
static void labels_before_the_shift(void **state) {
  (void)state;
  static const int64_t scored[kRows] = {1, kIgnored, 3, kIgnored, 5};
  begin();
  tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = kRows, .cols = kCols, .shift = 1};
  labels.labels = half_of(take(scored, sizeof scored), TOKAVG_DTYPE_I64, 8, 1, 1);
  const kernels_cell_t count = kernels_count(&labels, kIgnored, 0);
  kernels_use_device_arrays(0);
  if (count.status != TOKAVG_OK) fail_msg("%s", count.text);
  assert_int_equal(count.tokens, 3);
}

static void assert_row(const simd_rows_t *rows, const void *gradient, const void *expected) {
  const size_t bytes = (size_t)rows->vocab * simd_size_of(rows->dtype);
  if (expected != NULL) {
    assert_memory_equal(gradient, expected, bytes);
  } else {
    for (size_t i = 0; i < bytes; ++i) assert_int_equal(((const unsigned char *)gradient)[i], 0);
  }
}

/* What came out of kRows x kCols logits rows of which only column `read` counts; the labels' column is `seen`. */
static void check_results(const simd_rows_t *rows, const tokavg_cross_entropy_t *ce, int read, int seen,
                          const simd_results_t *near) {
  const int64_t bytes = rows->vocab * (int64_t)simd_size_of(rows->dtype);
  float losses[kAll], lse[kAll];
  int32_t argmax[kAll];
  kernels_device_read(ce->losses_out.data, losses, sizeof losses);
  kernels_device_read(ce->lse_out.data, lse, sizeof lse);
  kernels_device_read(ce->argmax_out.data, argmax, sizeof argmax);
  unsigned char *gradient = malloc((size_t)(kAll * bytes));
  assert_non_null(gradient);
  if (ce->gradient_out.data != NULL) kernels_device_read(ce->gradient_out.data, gradient, kAll * bytes);
  for (int i = 0; i < kAll; ++i) {
    const int r = i / kCols, is_read = i % kCols == read;
    assert_true(losses[i] == (i % kCols == seen ? near->losses[r] : 0));
    assert_true(lse[i] == (is_read ? near->lse[r] : 0));
    assert_int_equal(argmax[i], is_read ? near->argmax[r] : -1);
    if (ce->gradient_out.data == NULL) continue;
    assert_row(rows, gradient + i * bytes, is_read ? (const unsigned char *)near->gradient + r * bytes : NULL);
  }
  free(gradient);
}

static void check_logits(const simd_rows_t *rows, way_t way, int seen, int with_gradient, kernels_path_t path) {
  const int64_t vocab = rows->vocab, size = (int64_t)simd_size_of(rows->dtype);
  const int read = way == BY_SHIFT ? 0 : seen; /* label (r, 1) belongs to logits row (r, 0) */
  simd_results_t near = rows_run(rows, path);
  begin();
  const double ones[kRows] = {1, 1, 1, 1, 1};
  tokavg_labels_t labels = labels_of(rows->labels, way, seen);
  labels.weights = half_of(take(ones, sizeof ones), TOKAVG_DTYPE_F64, 8, 1, seen);
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = vocab, .labels = &labels};
  ce.logits = half_of(take(rows->logits, kRows * vocab * size), rows->dtype, size, vocab, read);
  if (with_gradient) ce.gradient_out = array_of(take(NULL, kAll * vocab * size), rows->dtype, kCols * vocab, vocab);
  ce.losses_out = array_of(take(NULL, kAll * 4), TOKAVG_DTYPE_F32, kCols, 1);
  ce.lse_out = array_of(take(NULL, kAll * 4), TOKAVG_DTYPE_F32, kCols, 1);
  ce.argmax_out = array_of(take(NULL, kAll * 4), TOKAVG_DTYPE_I32, kCols, 1);
  const kernels_multiplier_t scale = {.scale = 1, .has_factor = 1, .factor = rows->factor};
  const kernels_cell_t cell = kernels_cross_entropy(&ce, kIgnored, 0, &scale, path);
  kernels_use_device_arrays(0);
  if (cell.status != TOKAVG_OK) fail_msg("%s", cell.text);
  assert_true(cell.loss_tokens == kRows && cell.nonfinite == 0 && cell.losses.units == near.outcome.sum.units);
  check_results(rows, &ce, read, seen, &near);
  simd_free(&near);
}

static void logits(void **state) {
  (void)state;
  static const int64_t vocabs[] = {1003, 1024, 40009};
  uint64_t random = 1;
  for (int i = 0; i < 3 * 2 * 2 * WAYS; ++i) {
    const way_t way = (way_t)(i % WAYS);
    const int32_t dtype = i / WAYS % 2 == 0 ? TOKAVG_DTYPE_BF16 : TOKAVG_DTYPE_F32;
    batch_t batch = batch_make(LOGITS_NORMAL_3, dtype, kRows, vocabs[i / (WAYS * 4)], i, &random);
    kernels_path_t paths[KERNELS_PATHS];
    const int n = rows_paths(&batch.rows, paths);
    const int seen = way == BY_SHIFT ? 1 : i / (WAYS * 2) % 2;
    for (int p = 0; p < n; ++p) check_logits(&batch.rows, way, seen, i % 5 != 0, paths[p]);
    batch_free(&batch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_and_weights),
      cmocka_unit_test(labels_before_the_shift),
      cmocka_unit_test(logits),
  };
  if (!kernels_is_emulated()) { /* it may give the hole to the next who asks */
    printf("skipped: a GPU does not tell who reads freed memory\n");
    return 77;
  }
  memory = kernels_device_memory(kMemory);
  hole = kernels_device_memory(kHole);
  if (memory == NULL || hole == NULL) {
    printf("skipped: no allocation of %d GiB is possible here\n", (int)(kHole >> 30));
    return 77;
  }
  kernels_device_free(hole);
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  kernels_device_free(memory);
  return failed;
}
