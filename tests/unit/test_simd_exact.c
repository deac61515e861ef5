/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and sums of losses by the vector kernels: the same bits as the reference's, whatever the layout. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"
#include "support/simd.h"

enum { kShapes = 6000, kLongShapes = 60, kMostOffset = 16 };

/* A matrix whose memory ends with its last element. Rows may lie apart, upside down or as columns. */
typedef struct matrix {
  char *memory;
  tokavg_array_t array;
  int64_t first, elements;
} matrix_t;

static matrix_t matrix_make(int32_t dtype, size_t element, int64_t rows, int64_t cols, uint64_t *random) {
  const int64_t spare = random_below(random, 3) == 0 ? random_below(random, 9) : 0;
  const int64_t offset = random_below(random, kMostOffset);
  const int64_t kind = random_below(random, 8);
  matrix_t matrix = {.array = {NULL, dtype, TOKAVG_MEMORY_HOST, cols + spare, 1}};
  matrix.elements = offset + (rows > 0 ? rows * (cols + spare) - spare : 0);
  matrix.first = offset;
  if (kind == 0) { /* transposed */
    matrix.array.row_stride = 1;
    matrix.array.col_stride = rows + spare;
    matrix.elements = offset + (cols > 0 ? cols * (rows + spare) - spare : 0);
  } else if (kind == 1 && rows > 0) {
    matrix.first = offset + (rows - 1) * (cols + spare);
    matrix.array.row_stride = -(cols + spare);
  } else if (kind == 2 && rows > 0 && cols > 0) {
    matrix.first = matrix.elements - 1;
    matrix.array.row_stride = -(cols + spare);
    matrix.array.col_stride = -1;
  }
  matrix.elements = matrix.elements > matrix.first ? matrix.elements : matrix.first + 1;
  matrix.memory = malloc((size_t)matrix.elements * element);
  assert_non_null(matrix.memory);
  matrix.array.data = matrix.memory + (size_t)matrix.first * element;
  return matrix;
}

static const int64_t kIgnored[] = {-100, 0, INT32_MIN, INT64_MAX, 5, INT32_MAX, -100 + ((int64_t)1 << 32)};

static matrix_t make_labels(int64_t rows, int64_t cols, int64_t ignored, uint64_t *random) {
  const int wide = (int)random_below(random, 2);
  const int64_t rarity = 1 + random_below(random, 4);
  matrix_t matrix = matrix_make(wide ? TOKAVG_DTYPE_I64 : TOKAVG_DTYPE_I32, wide ? 8 : 4, rows, cols, random);
  for (int64_t i = 0; i < matrix.elements; ++i) {
    const int64_t other =
        random_below(random, 4) == 0 ? (int64_t)((uint64_t)ignored ^ (uint64_t)1 << random_below(random, 64)) : i;
    const int64_t label = random_below(random, rarity) == 0 ? ignored : other;
    if (wide) {
      ((int64_t *)(void *)matrix.memory)[i] = label;
    } else {
      ((int32_t *)(void *)matrix.memory)[i] = (int32_t)(uint32_t)(uint64_t)label;
    }
  }
  return matrix;
}

static matrix_t make_mask(int64_t rows, int64_t cols, uint64_t *random) {
  matrix_t matrix = matrix_make(TOKAVG_DTYPE_U8, 1, rows, cols, random);
  for (int64_t i = 0; i < matrix.elements; ++i) {
    matrix.memory[i] = (char)(random_below(random, 3) == 0 ? 0 : 1 << random_below(random, 8));
  }
  return matrix;
}

static double odd_loss(uint64_t *random) {
  static const double odd[] = {(double)NAN,
                               -(double)NAN,
                               (double)INFINITY,
                               -(double)INFINITY,
                               0.0,
                               -0.0,
                               0x1p22,
                               -0x1p22,
                               0x1.fffffep21,
                               -0x1.fffffep21,
                               0x1.fffffffffffffp21,
                               -0x1.fffffffffffffp21,
                               0x1.000002p22,
                               0x1.0000000000001p22,
                               0x1p-149,
                               0x1p-1074,
                               0x1p-73,
                               -0x1p-73,
                               0x1.8p-72,
                               -0x1.8p-72,
                               0x1.4p-71,
                               0x1.000002p-73,
                               0x1.fffffep-74,
                               1e30,
                               -1e300};
  return odd[random_below(random, sizeof odd / sizeof *odd)];
}

/* A tie of the last step, between any two units of 2^-72. */
static double tie(uint64_t *random) {
  return ldexp((double)(2 * random_below(random, (int64_t)1 << random_below(random, 51)) + 1), -73);
}

static double make_value(int64_t oddity, double limit, uint64_t *random) {
  const int64_t kind = oddity == 0 ? 9 : random_below(random, oddity);
  const double sign = random_below(random, 4) == 0 ? -1 : 1;
  if (kind == 0) return odd_loss(random);
  if (kind == 1) return sign * tie(random);
  if (kind == 2) return sign * random_unit(random) * limit;
  if (kind == 3) return sign * ldexp(random_unit(random), -(int)random_below(random, 90));
  return sign * random_unit(random) * 12;
}

static matrix_t make_reals(int64_t rows, int64_t cols, double limit, uint64_t *random) {
  const int wide = (int)random_below(random, 2);
  const int64_t oddity = random_below(random, 3) * 6; /* none, much, some */
  matrix_t matrix = matrix_make(wide ? TOKAVG_DTYPE_F64 : TOKAVG_DTYPE_F32, wide ? 8 : 4, rows, cols, random);
  for (int64_t i = 0; i < matrix.elements; ++i) {
    double value = make_value(oddity, limit, random);
    if (limit < 0x1p22 && !(fabs(value) < limit)) value = 1; /* weights */
    simd_write(matrix.memory, matrix.array.dtype, i, value);
  }
  return matrix;
}

static void assert_equal(const internal_outcome_t *got, const internal_outcome_t *expected) {
  assert_int_equal(got->status, expected->status);
  assert_string_equal(got->text, expected->text);
  assert_int_equal(got->tokens, expected->tokens);
  assert_int_equal(got->weighted_tokens, expected->weighted_tokens);
  assert_int_equal(got->nonfinite, expected->nonfinite);
  assert_true(got->sum.units == expected->sum.units);
  assert_int_equal(got->sum.too_large, expected->sum.too_large);
}

typedef struct call {
  tokavg_labels_t labels;
  tokavg_array_t losses;
  int64_t ignored;
} call_t;

static internal_outcome_t run(const call_t *call, int what) {
  if (what == 0) return internal_count(&call->labels, call->ignored, 0);
  const tokavg_labels_t *labels = what == 1 ? &call->labels : NULL;
  return internal_token_losses(&call->losses, call->labels.rows, call->labels.cols, labels, call->ignored, 0);
}

static void check_call(const call_t *call, int32_t threads) {
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int what = 0; what < 3; ++what) {
    simd_use("reference", 1);
    const internal_outcome_t expected = run(call, what);
    assert_int_equal(expected.status, TOKAVG_OK);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], threads);
      const internal_outcome_t got = run(call, what);
      assert_equal(&got, &expected);
    }
  }
}

static int64_t random_shift(int64_t cols, uint64_t *random) {
  switch (random_below(random, 6)) {
    case 0: return random_below(random, cols + 3);
    case 1: return 1;
    case 2: return random_below(random, 9) == 0 ? INT64_MAX : cols;
    default: return 0;
  }
}

static void check_shape(int64_t rows, int64_t cols, uint64_t *random) {
  call_t call = {.labels = {.struct_size = sizeof call.labels, .rows = rows, .cols = cols}};
  call.ignored = kIgnored[random_below(random, sizeof kIgnored / sizeof *kIgnored)];
  call.labels.shift = random_shift(cols, random);
  matrix_t labels = make_labels(rows, cols, call.ignored, random), mask = make_mask(rows, cols, random);
  matrix_t weights = make_reals(rows, cols, 0x1p20, random), losses = make_reals(rows, cols, 0x1p22, random);
  call.labels.labels = labels.array;
  if (random_below(random, 3) == 0) call.labels.mask = mask.array;
  if (random_below(random, 4) == 0) call.labels.weights = weights.array;
  call.losses = losses.array;
  check_call(&call, random_below(random, 16) == 0 ? 3 : 1);
  free(labels.memory);
  free(mask.memory);
  free(weights.memory);
  free(losses.memory);
}

static void small_shapes(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < kShapes; ++i) {
    const int64_t rows = random_below(&random, 41), cols = random_below(&random, 71);
    check_shape(rows, cols, &random);
  }
}

static void long_shapes(void **state) {
  (void)state;
  static const int64_t lengths[] = {(1 << 14) - 1, 1 << 14, (1 << 14) + 1, (1 << 14) + 77, 1 << 16, (1 << 16) + 5};
  uint64_t random = 2;
  for (int i = 0; i < kLongShapes; ++i) check_shape(1 + i % 3, lengths[i / 3 % 6] + random_below(&random, 3), &random);
}

/* 32-bit accumulators of the same lane would overflow, or wrap, if blocks were too long. */
static void all_ignored_and_none(void **state) {
  (void)state;
  enum { kLong = 1 << 20 };
  int32_t *labels = malloc(kLong * sizeof *labels);
  uint8_t *mask = malloc(kLong);
  memset(mask, 0x80, kLong);
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  tokavg_labels_t view = {.struct_size = sizeof view, .rows = 1, .cols = kLong};
  view.labels = (tokavg_array_t){labels, TOKAVG_DTYPE_I32, TOKAVG_MEMORY_HOST, kLong, 1};
  for (int masked = 0; masked < 2; ++masked) {
    if (masked) view.mask = (tokavg_array_t){mask, TOKAVG_DTYPE_U8, TOKAVG_MEMORY_HOST, kLong, 1};
    for (int ignored = 0; ignored < 2; ++ignored) {
      for (int i = 0; i < kLong; ++i) labels[i] = ignored ? -100 : i;
      for (int t = 0; t < n; ++t) {
        simd_use(targets[t], 1);
        assert_int_equal(internal_count(&view, -100, 0).tokens, ignored ? 0 : kLong);
      }
    }
  }
  free(labels);
  free(mask);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(small_shapes),
      cmocka_unit_test(long_shapes),
      cmocka_unit_test(all_ignored_and_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
