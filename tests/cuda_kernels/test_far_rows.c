/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are further apart than 32 bits can say, one after the other and as their product with a row: a few rows
   in an allocation of which little else is touched. */
#include "support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels/row_check.h"
#include "cuda_kernels/rows.h"
#include "support/batch.h"
#include "support/logits.h"
#include "support/random.h"

enum { kMostElements = 128, kFar = 3, kNear = 37, kOrientations = 2 };

static const int64_t kArea = (int64_t)40 << 30;
/* In front of it: where a distance that became a negative int leads to. On the emulator, so that the results are wrong;
   a GPU says itself that nothing is there. */
static const int64_t kFront = (int64_t)17 << 30;
static const int64_t kSlot = (int64_t)4 << 20; /* where arrays begin in the area; more than what lies at one distance */
static const int64_t kFarApart[] = {((int64_t)1 << 30) + 7, ((int64_t)1 << 31) + 5, ((int64_t)1 << 32) + 3};
static unsigned char *area;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* rows x cols elements, contiguous on the host, far apart on the device: rows, or (turned) columns. */
typedef struct shape {
  int64_t rows, cols, apart;
  int turned;
} shape_t;

/* As many as the area has room for: 2 or 3, of up to `largest` bytes an element. */
static shape_t shape_make(int64_t apart, int turned, int64_t largest) {
  const int64_t far = smaller(kFar, 1 + (kArea - 16 * kSlot) / (apart * largest));
  assert_true(far >= 2);
  return turned ? (shape_t){kNear, far, apart, 1} : (shape_t){far, kNear, apart, 0};
}

static tokavg_array_t array_at(int slot, int32_t dtype, const shape_t *shape) {
  tokavg_array_t array = {area + slot * kSlot, dtype, TOKAVG_MEMORY_CUDA, shape->apart, 1};
  if (shape->turned) {
    array.row_stride = 1;
    array.col_stride = shape->apart;
  }
  return array;
}

static int64_t size_of(int32_t dtype) {
  switch (dtype) {
    case TOKAVG_DTYPE_U8: return 1;
    case TOKAVG_DTYPE_I32: return 4;
    case TOKAVG_DTYPE_I64: return 8;
    default: return (int64_t)simd_size_of(dtype);
  }
}

static unsigned char *place_of(const tokavg_array_t *array, int64_t r, int64_t c) {
  return (unsigned char *)array->data + (r * array->row_stride + c * array->col_stride) * size_of(array->dtype);
}

static tokavg_array_t put(int slot, int32_t dtype, const shape_t *shape, const void *values) {
  const tokavg_array_t array = array_at(slot, dtype, shape);
  const unsigned char *from = values;
  const int64_t size = size_of(dtype);
  for (int64_t i = 0; i < shape->rows * shape->cols; ++i) {
    kernels_device_write(place_of(&array, i / shape->cols, i % shape->cols), from + i * size, size);
  }
  return array;
}

static tokavg_array_t on_host(void *values, int32_t dtype, int64_t cols) {
  return (tokavg_array_t){values, dtype, TOKAVG_MEMORY_HOST, cols, 1};
}

/* The same labels, masks, weights and losses on the host and far apart. */
typedef struct setup {
  int32_t labels_i32[kMostElements];
  int64_t labels_i64[kMostElements];
  uint8_t mask[kMostElements];
  float weights_f32[kMostElements], losses_f32[kMostElements];
  double weights_f64[kMostElements], losses_f64[kMostElements];
  tokavg_labels_t near, far;
  tokavg_array_t near_losses, far_losses;
} setup_t;

/* kind: bits for a mask, for weights, and for 64 bits in labels, weights and losses instead of 32. */
static void fill(setup_t *s, const shape_t *shape, int kind, int64_t shift, uint64_t *random) {
  memset(s, 0, sizeof *s);
  assert_true(shape->rows * shape->cols <= kMostElements);
  for (int i = 0; i < kMostElements; ++i) {
    s->labels_i64[i] = random_below(random, 3) == 0 ? -100 : random_below(random, 100);
    s->labels_i32[i] = (int32_t)s->labels_i64[i];
    s->mask[i] = (uint8_t)(random_below(random, 3) * 100);
    s->weights_f64[i] = s->weights_f32[i] = (float)(random_unit(random) * 4 - 2);
    s->losses_f64[i] = s->losses_f32[i] = (float)(random_unit(random) * 20);
  }
  s->near = (tokavg_labels_t){.struct_size = sizeof s->near, .rows = shape->rows, .cols = shape->cols, .shift = shift};
  s->far = s->near;
  const int64_t cols = shape->cols;
  const int wide = (kind & 4) != 0;
  const int32_t labels = wide ? TOKAVG_DTYPE_I64 : TOKAVG_DTYPE_I32;
  void *values = wide ? (void *)s->labels_i64 : (void *)s->labels_i32;
  s->near.labels = on_host(values, labels, cols);
  s->far.labels = put(0, labels, shape, values);
  if (kind & 1) {
    s->near.mask = on_host(s->mask, TOKAVG_DTYPE_U8, cols);
    s->far.mask = put(1, TOKAVG_DTYPE_U8, shape, s->mask);
  }
  const int32_t reals = wide ? TOKAVG_DTYPE_F64 : TOKAVG_DTYPE_F32;
  if (kind & 2) {
    values = wide ? (void *)s->weights_f64 : (void *)s->weights_f32;
    s->near.weights = on_host(values, reals, cols);
    s->far.weights = put(2, reals, shape, values);
  }
  values = wide ? (void *)s->losses_f64 : (void *)s->losses_f32;
  s->near_losses = on_host(values, reals, cols);
  s->far_losses = put(3, reals, shape, values);
}

static void check_count(const setup_t *s) {
  const kernels_cell_t got = kernels_count(&s->far, -100, 0);
  const internal_outcome_t expected = internal_count(&s->near, -100, 0);
  if (got.status != TOKAVG_OK) fail_msg("%s", got.text);
  assert_int_equal(got.tokens, expected.tokens);
  assert_int_equal(got.weighted, expected.weighted_tokens);
  assert_int_equal(got.bad_weights, 0);
  assert_true(got.weights.units == expected.sum.units);
}

static void check_losses(const setup_t *s, int labelled) {
  const int64_t rows = s->near.rows, cols = s->near.cols;
  const kernels_cell_t got = kernels_token_losses(&s->far_losses, rows, cols, labelled ? &s->far : NULL, -100, 0);
  const internal_outcome_t expected =
      internal_token_losses(&s->near_losses, rows, cols, labelled ? &s->near : NULL, -100, 0);
  if (got.status != TOKAVG_OK) fail_msg("%s", got.text);
  assert_int_equal(got.loss_tokens, expected.tokens);
  assert_int_equal(got.nonfinite, 0);
  assert_true(got.losses.units == expected.sum.units);
}

/* Labels of both widths, without and with a mask, without and with weights; token losses with and without them. */
static void labels_and_losses(void **state) {
  (void)state;
  static setup_t s;
  uint64_t random = 1;
  assert_int_equal(internal_use_kernels("reference", 1), TOKAVG_OK);
  kernels_use_device_arrays(1);
  for (int i = 0; i < 3 * kOrientations * 8; ++i) {
    const int kind = i % 8;
    const shape_t shape = shape_make(kFarApart[i / 16], i / 8 % kOrientations, kind < 4 ? 4 : 8);
    fill(&s, &shape, kind, i % 3 == 0 ? 1 : 0, &random);
    check_count(&s);
    check_losses(&s, i % 4 != 0);
  }
  kernels_use_device_arrays(0);
}

/* A call of few rows of logits, each far from the next. */
typedef struct rows_there {
  const simd_rows_t *rows;
  int turned;
  tokavg_array_t logits, gradient, losses, lse, argmax, labels, weights;
} rows_there_t;

static tokavg_array_t rows_array(int slot, int32_t dtype, int64_t apart, const rows_there_t *there) {
  const shape_t shape = {there->rows->rows, 1, apart, there->turned};
  return array_at(slot, dtype, &shape);
}

static unsigned char *row_place(const tokavg_array_t *array, const rows_there_t *there, int64_t r) {
  return there->turned ? place_of(array, 0, r) : place_of(array, r, 0);
}

/* Of `width` elements at each place. */
static void write_rows(const tokavg_array_t *array, const rows_there_t *there, int64_t width, const void *from) {
  const int64_t bytes = width * size_of(array->dtype);
  for (int64_t r = 0; r < there->rows->rows; ++r) {
    kernels_device_write(row_place(array, there, r), (const unsigned char *)from + r * bytes, bytes);
  }
}

static void *read_rows(const tokavg_array_t *array, const rows_there_t *there, int64_t width) {
  const int64_t bytes = width * size_of(array->dtype);
  unsigned char *values = malloc((size_t)(there->rows->rows * bytes));
  assert_non_null(values);
  for (int64_t r = 0; r < there->rows->rows; ++r) {
    kernels_device_read(row_place(array, there, r), values + r * bytes, bytes);
  }
  return values;
}

static rows_there_t place_rows(const simd_rows_t *rows, int64_t apart, int turned) {
  static const int64_t kLabelsApart = ((int64_t)1 << 31) + 5;
  rows_there_t there = {.rows = rows, .turned = turned};
  there.logits = rows_array(0, rows->dtype, apart, &there);
  there.gradient = rows->in_place ? there.logits : rows_array(1, rows->dtype, apart + 16, &there);
  there.losses = rows_array(2, TOKAVG_DTYPE_F32, apart, &there);
  there.lse = rows_array(3, TOKAVG_DTYPE_F32, apart, &there);
  there.argmax = rows_array(4, TOKAVG_DTYPE_I32, apart, &there);
  there.labels = rows_array(5, TOKAVG_DTYPE_I64, kLabelsApart, &there);
  there.weights = rows_array(6, TOKAVG_DTYPE_F64, kLabelsApart, &there);
  write_rows(&there.logits, &there, rows->vocab, rows->logits);
  write_rows(&there.labels, &there, 1, rows->labels);
  write_rows(&there.weights, &there, 1, rows->weights);
  return there;
}

static simd_results_t run_there(const rows_there_t *there, kernels_path_t path) {
  const simd_rows_t *rows = there->rows;
  tokavg_labels_t labels = {.struct_size = sizeof labels, .labels = there->labels, .weights = there->weights};
  labels.rows = there->turned ? 1 : rows->rows;
  labels.cols = there->turned ? rows->rows : 1;
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = rows->vocab, .labels = &labels};
  ce.logits = there->logits;
  ce.gradient_out = there->gradient;
  ce.losses_out = there->losses;
  ce.lse_out = there->lse;
  ce.argmax_out = there->argmax;
  const kernels_multiplier_t scale = {.scale = 1, .has_factor = 1, .factor = rows->factor};
  kernels_use_device_arrays(1);
  const kernels_cell_t cell = kernels_cross_entropy(&ce, -100, 0, &scale, path);
  kernels_use_device_arrays(0);
  if (cell.status != TOKAVG_OK) fail_msg("%s", cell.text);
  simd_results_t results = {.outcome = {.tokens = (int64_t)cell.loss_tokens, .nonfinite = (int64_t)cell.nonfinite}};
  results.outcome.sum = cell.losses;
  results.losses = read_rows(&there->losses, there, 1);
  results.lse = read_rows(&there->lse, there, 1);
  results.argmax = read_rows(&there->argmax, there, 1);
  results.gradient = read_rows(&there->gradient, there, rows->vocab);
  return results;
}

static void check_rows(simd_rows_t *rows, int64_t apart, int turned, row_errors_t *worst) {
  kernels_path_t paths[KERNELS_PATHS];
  const int n = rows_paths(rows, paths);
  for (int p = 0; p < n; ++p) {
    const rows_there_t there = place_rows(rows, apart, turned);
    simd_results_t got = run_there(&there, paths[p]), near = rows_run(rows, paths[p]);
    row_check(rows, &got, worst);
    simd_assert_same(rows, &got, &near);
    if (!rows->in_place) {
      void *logits = read_rows(&there.logits, &there, rows->vocab);
      assert_memory_equal(logits, rows->logits, (size_t)(rows->rows * rows->vocab) * simd_size_of(rows->dtype));
      free(logits);
    }
    simd_free(&got);
    simd_free(&near);
  }
}

static void cross_entropy(void **state) {
  (void)state;
  static const int64_t apart[] = {((int64_t)1 << 30) + 7, ((int64_t)1 << 31) + 5, ((int64_t)1 << 32) + 8};
  static const int64_t vocabs[] = {1003, 40009}; /* one chunk, and several */
  uint64_t random = 2;
  row_errors_t worst = {0};
  for (int i = 0; i < 3 * 2 * 2 * 2; ++i) {
    const int32_t dtype = i % 2 == 0 ? TOKAVG_DTYPE_BF16 : TOKAVG_DTYPE_F32;
    batch_t batch = batch_make(LOGITS_NORMAL_3, dtype, kFar, vocabs[i / 2 % 2], i, &random);
    batch.rows.in_place = i / 4 % 2;
    batch.rows.weights = batch.weights;
    check_rows(&batch.rows, apart[i / 8], i % 3 == 0, &worst);
    batch_free(&batch);
  }
  row_report("far rows", &worst);
}

static void scale(void **state) {
  (void)state;
  enum { kCount = 70001, kItems = 6 };
  static float values[kItems][kCount], got[kCount];
  static const int64_t places[kItems] = {4,
                                         ((int64_t)1 << 31) + 4,
                                         ((int64_t)1 << 32) + 8,
                                         ((int64_t)1 << 33) + 12,
                                         ((int64_t)1 << 35) + 16,
                                         ((int64_t)40 << 30) - kCount * 4};
  tokavg_scale_item_t items[kItems];
  uint64_t random = 3;
  for (int i = 0; i < kItems; ++i) {
    for (int k = 0; k < kCount; ++k) values[i][k] = (float)random_unit(&random);
    items[i] = (tokavg_scale_item_t){area + places[i], kCount, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
    kernels_device_write(items[i].data, values[i], sizeof values[i]);
    assert_int_equal(internal_scale(values[i], TOKAVG_DTYPE_F32, kCount, 0.3), TOKAVG_OK);
  }
  const kernels_multiplier_t multiplier = {.scale = 0.3};
  kernels_use_device_arrays(1);
  const kernels_cell_t cell = kernels_scale(items, kItems, &multiplier);
  kernels_use_device_arrays(0);
  if (cell.status != TOKAVG_OK) fail_msg("%s", cell.text);
  for (int i = 0; i < kItems; ++i) {
    kernels_device_read(items[i].data, got, sizeof got);
    assert_memory_equal(got, values[i], sizeof got);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(labels_and_losses),
      cmocka_unit_test(cross_entropy),
      cmocka_unit_test(scale),
  };
  const int64_t front = kernels_is_emulated() ? kFront : 0;
  unsigned char *memory = kernels_device_memory(front + kArea);
  if (memory == NULL) {
    printf("skipped: no allocation of %d GiB is possible here\n", (int)((front + kArea) >> 30));
    return 77;
  }
  area = memory + front;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  kernels_device_free(memory);
  return failed;
}
