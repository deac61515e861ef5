/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and sums of weights by the kernels: exactly those of the host's reference. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels/kernels.h"
#include "support/layout.h"
#include "support/random.h"

enum { kMost = 400 };

/* Labels, masks and weights of one call, each in a layout of its own. */
typedef struct setup {
  int32_t labels_i32[kMost];
  int64_t labels_i64[kMost];
  uint8_t mask[kMost];
  float weights_f32[kMost];
  double weights_f64[kMost];
  tokavg_labels_t labels;
} setup_t;

static tokavg_array_t place(void *data, size_t size, int32_t dtype, layout_t layout) {
  return (tokavg_array_t){(char *)data + (size_t)layout.first * size, dtype, TOKAVG_MEMORY_CUDA, layout.row_stride,
                          layout.col_stride};
}

static double random_weight(uint64_t *random) {
  switch (random_below(random, 6)) {
    case 0: return 0;
    case 1: return -0x1.fffffffffffffp21;
    case 2: return 0x1.fffffep21;
    case 3: return ldexp(random_unit(random) - 0.5, (int)-random_below(random, 80)); /* down to below 2^-73 */
    case 4: return ldexp((double)(2 * random_below(random, 1000) + 1), -73);         /* half way */
    default: return random_unit(random) * 4 - 2;
  }
}

static void fill(setup_t *s, int64_t rows, int64_t cols, int64_t ignore, uint64_t *random) {
  memset(s, 0, sizeof *s);
  const int kinds[] = {(int)random_below(random, 2), (int)random_below(random, 2), (int)random_below(random, 3)};
  const layout_t labels = layout_make((int)random_below(random, LAYOUT_KINDS), rows, cols);
  const layout_t mask = layout_make((int)random_below(random, LAYOUT_KINDS), rows, cols);
  const layout_t weights = layout_make((int)random_below(random, LAYOUT_KINDS), rows, cols);
  s->labels.shift = random_below(random, 3) == 0 ? random_below(random, cols + 2) : random_below(random, 2);
  for (int i = 0; i < kMost; ++i) s->weights_f64[i] = s->weights_f32[i] = NAN;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t label = random_below(random, 3) == 0 ? ignore : random_below(random, 9) - 4;
      s->labels_i32[layout_at(labels, r, c)] = (int32_t)label;
      s->labels_i64[layout_at(labels, r, c)] = label;
      s->mask[layout_at(mask, r, c)] = (uint8_t)(random_below(random, 3) * 127); /* 0, 127, 254 */
      if (label == ignore || c < s->labels.shift) continue;                      /* its weight may be anything */
      s->weights_f64[layout_at(weights, r, c)] = random_weight(random);
      s->weights_f32[layout_at(weights, r, c)] = (float)s->weights_f64[layout_at(weights, r, c)];
      if (fabsf(s->weights_f32[layout_at(weights, r, c)]) >= 0x1p22f) s->weights_f32[layout_at(weights, r, c)] = 3;
    }
  }
  s->labels.struct_size = sizeof s->labels;
  s->labels.rows = rows;
  s->labels.cols = cols;
  s->labels.labels = kinds[0] == 0 ? place(s->labels_i32, 4, TOKAVG_DTYPE_I32, labels)
                                   : place(s->labels_i64, 8, TOKAVG_DTYPE_I64, labels);
  if (kinds[1] != 0) s->labels.mask = place(s->mask, 1, TOKAVG_DTYPE_U8, mask);
  if (kinds[2] == 1) s->labels.weights = place(s->weights_f32, 4, TOKAVG_DTYPE_F32, weights);
  if (kinds[2] == 2) s->labels.weights = place(s->weights_f64, 8, TOKAVG_DTYPE_F64, weights);
}

static void assert_same(const kernels_cell_t *got, const internal_outcome_t *expected) {
  if (got->status != TOKAVG_OK) fail_msg("%s", got->text);
  assert_int_equal(expected->status, TOKAVG_OK);
  assert_int_equal(got->tokens, expected->tokens);
  assert_int_equal(got->weighted, expected->weighted_tokens);
  assert_true(got->weights.units == expected->sum.units && !got->weights.too_large);
  assert_true(got->bad_weights == 0 && got->loss_tokens == 0 && got->nonfinite == 0 && got->losses.units == 0);
}

static void every_layout(void **state) {
  (void)state;
  static const int64_t ignores[] = {-100, 0, 2, -4};
  static setup_t s;
  uint64_t random = 1;
  for (int i = 0; i < 1500; ++i) {
    const int64_t rows = 1 + random_below(&random, 6), cols = 1 + random_below(&random, 9), ignore = ignores[i % 4];
    fill(&s, rows, cols, ignore, &random);
    const kernels_cell_t got = kernels_count(&s.labels, ignore, 0);
    const internal_outcome_t expected = internal_count(&s.labels, ignore, 0);
    assert_same(&got, &expected);
  }
}

static tokavg_labels_t run_of(void *labels, int32_t dtype, int64_t rows, int64_t cols, int64_t shift) {
  tokavg_labels_t run = {.struct_size = sizeof run, .rows = rows, .cols = cols, .shift = shift};
  run.labels = (tokavg_array_t){labels, dtype, TOKAVG_MEMORY_CUDA, cols, 1};
  return run;
}

/* One block and many, every distance from a multiple of 16 bytes, every length of what is left at the ends. */
static void long_runs(void **state) {
  (void)state;
  enum { kLongest = 600000 };
  static const int64_t lengths[] = {1, 2, 3, 5, 31, 2049, 4096, 65535, 65536, 65537, 131072, 300007, kLongest - 8};
  int64_t *wide = malloc(kLongest * sizeof *wide);
  int32_t *narrow = malloc(kLongest * sizeof *narrow);
  assert_true(wide != NULL && narrow != NULL);
  uint64_t random = 2;
  for (int64_t i = 0; i < kLongest; ++i) {
    wide[i] = random_below(&random, 3) == 0 ? -100 : random_below(&random, 100000);
    if (random_below(&random, 50) == 0) wide[i] = -100 + ((int64_t)1 << 32); /* not ignored */
    narrow[i] = (int32_t)(random_below(&random, 3) == 0 ? -100 : random_below(&random, 100000));
  }
  for (int i = 0; i < 13 * 2 * 4; ++i) {
    const int64_t n = lengths[i % 13], first = i % 5;
    const int is_wide = i / 13 % 2, shifted = i / 26 % 2 && n % 37 == 0;
    void *labels = is_wide ? (void *)(wide + first) : (void *)(narrow + first);
    const int64_t cols = shifted ? 37 : n;
    const tokavg_labels_t run =
        run_of(labels, is_wide ? TOKAVG_DTYPE_I64 : TOKAVG_DTYPE_I32, n / cols, cols, shifted ? 1 + i % 2 : i % 2);
    const kernels_cell_t got = kernels_count(&run, -100, 0);
    const internal_outcome_t expected = internal_count(&run, -100, 0);
    assert_same(&got, &expected);
  }
  for (int64_t shift = 0; shift < 40; shift += 3) { /* rows in one run with columns to be left out */
    const tokavg_labels_t run = run_of(narrow + shift % 4, TOKAVG_DTYPE_I32, 3001, 64, shift);
    const kernels_cell_t got = kernels_count(&run, -100, 0);
    const internal_outcome_t expected = internal_count(&run, -100, 0);
    assert_same(&got, &expected);
  }
  free(wide);
  free(narrow);
}

static void many_weights(void **state) {
  (void)state;
  enum { kRows = 300, kCols = 411, kAll = kRows * kCols };
  static int64_t labels[kAll];
  static double weights[kAll];
  uint64_t random = 3;
  for (int i = 0; i < kAll; ++i) {
    labels[i] = random_below(&random, 4) - 1;
    weights[i] = labels[i] == -1 ? (double)NAN : random_weight(&random);
  }
  tokavg_labels_t run = run_of(labels, TOKAVG_DTYPE_I64, kRows, kCols, 1);
  run.weights = (tokavg_array_t){weights, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_CUDA, kCols, 1};
  const internal_outcome_t expected = internal_count(&run, -1, 0);
  const kernels_cell_t got = kernels_count(&run, -1, 0);
  assert_same(&got, &expected);
  kernels_keep_cell(1);
  const kernels_cell_t twice = kernels_count(&run, -1, 0);
  kernels_keep_cell(0);
  assert_int_equal(twice.tokens, 2 * got.tokens);
  assert_int_equal(twice.weighted, 2 * got.weighted);
  assert_true(twice.weights.units == 2 * got.weights.units);
}

/* Rows that all threads together do not span in one step, and steps of many rows. */
static void wide_and_narrow_rows(void **state) {
  (void)state;
  enum { kAll = 30000 };
  static int32_t labels[kAll];
  static uint8_t mask[kAll];
  uint64_t random = 4;
  for (int i = 0; i < kAll; ++i) {
    labels[i] = (int32_t)random_below(&random, 3);
    mask[i] = (uint8_t)random_below(&random, 2);
  }
  static const int64_t widths[] = {1, 2, 7, 511, 512, 513, 1023, 5000, 14999, kAll};
  for (int i = 0; i < 10 * 3; ++i) {
    const int64_t cols = widths[i / 3], shift = i % 3 * (cols / 3);
    tokavg_labels_t run = run_of(labels, TOKAVG_DTYPE_I32, kAll / cols, cols, shift);
    run.mask = (tokavg_array_t){mask, TOKAVG_DTYPE_U8, TOKAVG_MEMORY_CUDA, cols, 1};
    const kernels_cell_t got = kernels_count(&run, 1, 0);
    const internal_outcome_t expected = internal_count(&run, 1, 0);
    assert_same(&got, &expected);
  }
}

static void nothing_to_count(void **state) {
  (void)state;
  int64_t label = 1;
  tokavg_labels_t run = run_of(&label, TOKAVG_DTYPE_I64, 1, 0, 0);
  assert_int_equal(kernels_count(&run, -100, 0).tokens, 0);
  run = run_of(NULL, TOKAVG_DTYPE_I64, 0, 1, 0);
  assert_int_equal(kernels_count(&run, -100, 0).tokens, 0);
  run = run_of(&label, TOKAVG_DTYPE_I64, 1, 1, INT64_MAX);
  assert_int_equal(kernels_count(&run, -100, 0).tokens, 0);
}

static void the_ignored_label_is_compared_whole(void **state) {
  (void)state;
  int32_t narrow[] = {-100, -1, INT32_MIN};
  tokavg_labels_t run = run_of(narrow, TOKAVG_DTYPE_I32, 1, 3, 0);
  assert_int_equal(kernels_count(&run, -100, 0).tokens, 2);
  assert_int_equal(kernels_count(&run, -100 + ((int64_t)1 << 32), 0).tokens, 3);
  assert_int_equal(kernels_count(&run, INT32_MIN, 0).tokens, 2);
  assert_int_equal(kernels_count(&run, INT64_MIN, 0).tokens, 3);
  int64_t wide[] = {INT64_MIN, -100 + ((int64_t)1 << 32), -100};
  run = run_of(wide, TOKAVG_DTYPE_I64, 1, 3, 0);
  assert_int_equal(kernels_count(&run, -100, 0).tokens, 2);
  assert_int_equal(kernels_count(&run, INT64_MIN, 0).tokens, 2);
}

static void bad_weights_are_counted_and_add_nothing(void **state) {
  (void)state;
  int64_t labels[] = {5, -100, 5, 5, 5};
  static const double bad[] = {NAN, INFINITY, -INFINITY, 0x1p22, -0x1p22, 1e300};
  for (int i = 0; i < 6; ++i) {
    double weights[] = {1, NAN, bad[i], -0.5, -0.0};
    float floats[] = {1, NAN, (float)bad[i], -0.5f, -0.0f};
    tokavg_labels_t run = run_of(labels, TOKAVG_DTYPE_I64, 1, 5, 0);
    run.weights = (tokavg_array_t){weights, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_CUDA, 5, 1};
    kernels_cell_t got = kernels_count(&run, -100, 0);
    assert_true(got.tokens == 4 && got.weighted == 4 && got.bad_weights == 1 && got.weights.value == 0.5);
    got = kernels_count(&run, -100, 1); /* negative ones too */
    assert_true(got.tokens == 4 && got.weighted == 4 && got.bad_weights == 2 && got.weights.value == 1);
    run.weights.data = floats;
    run.weights.dtype = TOKAVG_DTYPE_F32;
    got = kernels_count(&run, -100, 0);
    assert_true(got.tokens == 4 && got.weighted == 4 && got.bad_weights == 1 && got.weights.value == 0.5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout),
      cmocka_unit_test(long_runs),
      cmocka_unit_test(many_weights),
      cmocka_unit_test(wide_and_narrow_rows),
      cmocka_unit_test(nothing_to_count),
      cmocka_unit_test(the_ignored_label_is_compared_whole),
      cmocka_unit_test(bad_weights_are_counted_and_add_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
