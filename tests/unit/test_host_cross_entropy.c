/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and gradients of cross entropy, against the formula in long double and its central differences. */
#include "support/unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"

enum { kRows = 3, kCols = 5, kVocab = 7, kStride = 9, kLogits = kRows * kCols * kStride };

typedef struct kind {
  double smoothing, z_loss, softcap;
  int64_t shift;
  int32_t label_base, dtype;
  int weighted;
} kind_t;

static long double loss_of(const long double *logits, int64_t y, const kind_t *kind) {
  long double x[kVocab], sum = 0, mean = 0;
  const long double e = kind->smoothing, cap = kind->softcap;
  for (int k = 0; k < kVocab; ++k) {
    x[k] = kind->softcap != 0 ? cap * tanhl(logits[k] / cap) : logits[k];
    sum += expl(x[k]);
    mean += x[k] / kVocab;
  }
  const long double lse = logl(sum);
  return (1 - e) * (lse - x[y]) + e * (lse - mean) + (long double)kind->z_loss * lse * lse;
}

static long double slope_of(const long double *logits, int64_t y, const kind_t *kind, int k) {
  const long double h = 1e-5L;
  long double moved[kVocab];
  memcpy(moved, logits, sizeof moved);
  moved[k] = logits[k] + h;
  const long double up = loss_of(moved, y, kind);
  moved[k] = logits[k] - h;
  return (up - loss_of(moved, y, kind)) / (2 * h);
}

/* Logits that each of the three types can hold. */
static void write_logit(void *data, int32_t dtype, int64_t i, int eighths) {
  const float value = (float)eighths / 8;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (dtype == TOKAVG_DTYPE_F32) {
    ((float *)data)[i] = value;
  } else if (dtype == TOKAVG_DTYPE_BF16) {
    ((uint16_t *)data)[i] = (uint16_t)(bits >> 16);
  } else {
    const uint32_t exponent = (bits >> 23 & 0xff) - 127 + 15;
    const uint32_t magnitude = value == 0 ? 0 : exponent << 10 | (bits >> 13 & 0x3ff);
    ((uint16_t *)data)[i] = (uint16_t)(bits >> 31 << 15 | magnitude);
  }
}

static long double read_gradient(const void *data, int32_t dtype, int64_t i) {
  if (dtype == TOKAVG_DTYPE_F32) return (long double)((const float *)data)[i];
  const uint32_t bits = ((const uint16_t *)data)[i];
  if (dtype == TOKAVG_DTYPE_BF16) {
    const uint32_t wide = bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (long double)value;
  }
  const int exponent = (int)(bits >> 10 & 31);
  const long double magnitude =
      exponent == 0 ? ldexpl(bits & 0x3ff, -24) : ldexpl((long double)((bits & 0x3ff) + 1024), exponent - 25);
  return bits >> 15 != 0 ? -magnitude : magnitude;
}

/* Half a unit in the last place, and the error of the central difference. */
static long double tolerance_of(int32_t dtype, long double expected, double scale) {
  const long double ulp = dtype == TOKAVG_DTYPE_F32 ? 0x1p-24L : dtype == TOKAVG_DTYPE_BF16 ? 0x1p-8L : 0x1p-11L;
  const long double subnormal = dtype == TOKAVG_DTYPE_F16 ? 0x1p-25L : 0;
  return fabsl(expected) * ulp * 1.0001L + subnormal + 1e-9L * fabsl((long double)scale);
}

static internal_int128_t units_of(double x) {
  const double v = rint(x * 0x1p40);
  return (internal_int128_t)(int64_t)v * ((internal_int128_t)1 << 32) + (int64_t)rint((x * 0x1p40 - v) * 0x1p32);
}

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t row_stride, int64_t col_stride) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_HOST, row_stride, col_stride};
}

static void check_kind(const kind_t *kind, uint64_t *random) {
  int eighths[kLogits];
  float logits[kLogits], gradient[kLogits], losses[kRows * kCols], lse[kRows * kCols], weights[kRows * kCols];
  int32_t labels[kRows * kCols], argmax[kRows * kCols];
  for (int i = 0; i < kLogits; ++i) {
    eighths[i] = (int)random_below(random, 65) - 32;
    if (kind->dtype == TOKAVG_DTYPE_BF16) eighths[i] &= ~1;
    write_logit(logits, kind->dtype, i, eighths[i]);
  }
  for (int i = 0; i < kRows * kCols; ++i) {
    labels[i] = random_below(random, 4) == 0 ? -100 : (int32_t)random_below(random, kVocab) + kind->label_base;
    weights[i] = (float)(random_unit(random) * 4 - 1);
  }
  const double factor = 0.375;
  tokavg_labels_t view = {.struct_size = sizeof view, .label_base = kind->label_base, .shift = kind->shift};
  view.rows = kRows;
  view.cols = kCols;
  view.labels = array_of(labels, TOKAVG_DTYPE_I32, kCols, 1);
  if (kind->weighted) view.weights = array_of(weights, TOKAVG_DTYPE_F32, kCols, 1);
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = kVocab, .labels = &view};
  ce.label_smoothing = kind->smoothing;
  ce.z_loss = kind->z_loss;
  ce.logit_softcap = kind->softcap;
  ce.logits = array_of(logits, kind->dtype, (int64_t)kCols * kStride, kStride);
  ce.gradient_out = array_of(gradient, kind->dtype, (int64_t)kCols * kStride, kStride);
  ce.losses_out = array_of(losses, TOKAVG_DTYPE_F32, 1, kRows); /* transposed */
  ce.lse_out = array_of(lse + kRows * kCols - 1, TOKAVG_DTYPE_F32, -kCols, -1);
  ce.argmax_out = array_of(argmax, TOKAVG_DTYPE_I32, kCols, 1);
  const internal_outcome_t got = internal_cross_entropy(&ce, -100, factor);
  assert_int_equal(got.status, TOKAVG_OK);
  assert_int_equal(got.nonfinite, 0);

  const int64_t shift = kind->shift < kCols ? kind->shift : kCols;
  int64_t tokens = 0;
  internal_int128_t sum = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < shift; ++c) assert_true(losses[c * kRows + r] == 0);
    for (int64_t j = 0; j < kCols; ++j) {
      const int64_t c = j + shift, first = (r * kCols + j) * kStride;
      const float row_lse = lse[kRows * kCols - 1 - r * kCols - j];
      if (c >= kCols || labels[r * kCols + c] == -100) {
        for (int k = 0; k < kVocab; ++k) assert_true(read_gradient(gradient, kind->dtype, first + k) == 0);
        if (c < kCols) assert_true(losses[c * kRows + r] == 0);
        assert_true(row_lse == 0 && argmax[r * kCols + j] == -1);
        continue;
      }
      long double row[kVocab], exp_sum = 0;
      int largest = 0;
      const kind_t plain = {.softcap = kind->softcap};
      for (int k = 0; k < kVocab; ++k) {
        row[k] = (long double)eighths[first + k] / 8;
        if (row[k] > row[largest]) largest = k;
      }
      for (int k = 0; k < kVocab; ++k) exp_sum += expl(-loss_of(row, k, &plain)); /* probabilities */
      assert_true(fabsl(exp_sum - 1) < 1e-15L);
      const int64_t y = labels[r * kCols + c] - kind->label_base;
      const long double capped =
          kind->softcap != 0 ? (long double)kind->softcap * tanhl(row[y] / (long double)kind->softcap) : row[y];
      const long double expected_lse = loss_of(row, y, &plain) + capped;
      const float loss = losses[c * kRows + r];
      assert_true(fabsl((long double)loss - loss_of(row, y, kind)) <= 0x1.0001p-24L * fabsl((long double)loss));
      assert_true(fabsl((long double)row_lse - expected_lse) <= 0x1.0001p-24L * fabsl(expected_lse));
      assert_int_equal(argmax[r * kCols + j], largest + kind->label_base);
      const double w = kind->weighted ? (double)weights[r * kCols + c] : 1;
      for (int k = 0; k < kVocab; ++k) {
        const long double expected = slope_of(row, y, kind, k) * (long double)(w * factor);
        const long double actual = read_gradient(gradient, kind->dtype, first + k);
        assert_true(fabsl(actual - expected) <= tolerance_of(kind->dtype, expected, w * factor));
      }
      ++tokens;
      sum += units_of(w * (double)loss);
    }
  }
  assert_int_equal(got.tokens, tokens);
  assert_true(got.sum.units == sum);
}

static void every_kind_of_loss(void **state) {
  (void)state;
  static const double smoothings[] = {0, 0.1, 1}, z_losses[] = {0, 0.01}, softcaps[] = {0, 3};
  static const int32_t dtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
  static const int64_t shifts[] = {0, 1, 2, kCols, INT64_MAX};
  uint64_t random = 1;
  for (int i = 0; i < 3 * 2 * 2 * 3 * 5 * 2 * 2; ++i) {
    kind_t kind = {.smoothing = smoothings[i % 3], .z_loss = z_losses[i / 3 % 2], .softcap = softcaps[i / 6 % 2]};
    kind.dtype = dtypes[i / 12 % 3];
    kind.shift = shifts[i / 36 % 5];
    kind.label_base = i / 180 % 2;
    kind.weighted = i / 360;
    check_kind(&kind, &random);
  }
}

static void a_result_done_by_hand(void **state) {
  (void)state;
  float logits[] = {1.0986123f, 0}, gradient[2], loss, lse; /* log 3: the classes have 3/4 and 1/4 */
  int64_t y = 1;
  int32_t argmax;
  tokavg_labels_t view = {.struct_size = sizeof view, .rows = 1, .cols = 1};
  view.labels = array_of(&y, TOKAVG_DTYPE_I64, 1, 1);
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = 2, .labels = &view};
  ce.logits = array_of(logits, TOKAVG_DTYPE_F32, 2, 2);
  ce.gradient_out = array_of(gradient, TOKAVG_DTYPE_F32, 2, 2);
  ce.losses_out = array_of(&loss, TOKAVG_DTYPE_F32, 1, 1);
  ce.lse_out = array_of(&lse, TOKAVG_DTYPE_F32, 1, 1);
  ce.argmax_out = array_of(&argmax, TOKAVG_DTYPE_I32, 1, 1);
  const internal_outcome_t got = internal_cross_entropy(&ce, -100, 8);
  assert_true(fabsf(loss - 1.3862944f) < 2e-7f); /* log 4 */
  assert_true(fabsf(lse - 1.3862944f) < 2e-7f);
  assert_true(fabsf(gradient[0] - 6) < 1e-6f && fabsf(gradient[1] + 6) < 1e-6f);
  assert_int_equal(argmax, 0);
  assert_true(got.sum.value == (double)loss);
}

static void a_certain_class_keeps_its_digits(void **state) {
  (void)state;
  float logits[] = {50, 0, -1000}, gradient[3], loss;
  int64_t y = 0;
  tokavg_labels_t view = {.struct_size = sizeof view, .rows = 1, .cols = 1};
  view.labels = array_of(&y, TOKAVG_DTYPE_I64, 1, 1);
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = 3, .labels = &view};
  ce.logits = array_of(logits, TOKAVG_DTYPE_F32, 3, 3);
  ce.gradient_out = array_of(gradient, TOKAVG_DTYPE_F32, 3, 3);
  ce.losses_out = array_of(&loss, TOKAVG_DTYPE_F32, 1, 1);
  internal_cross_entropy(&ce, -100, 1);
  const float tiny = (float)exp(-50.0);
  assert_true(loss == tiny && gradient[0] == -tiny && gradient[1] == tiny && gradient[2] == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_loss),
      cmocka_unit_test(a_result_done_by_hand),
      cmocka_unit_test(a_certain_class_keeps_its_digits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
