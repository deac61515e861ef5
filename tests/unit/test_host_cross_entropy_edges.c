/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy where something is missing, wrong, infinite or not a number. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"

enum { kRows = 2, kCols = 4, kVocab = 5, kStride = 6, kPerRow = kCols * kStride, kLogits = kRows * kPerRow };
enum { kLabels = kRows * kCols };

static const float kCanary = 12345;

/* Float logits with one spare column, labels 0 to 4 and every output. */
typedef struct setup {
  float logits[kLogits], gradient[kLogits], losses[kLabels], lse[kLabels];
  double weights[kLabels];
  int64_t y[kLabels];
  int32_t argmax[kLabels];
  tokavg_labels_t labels;
  tokavg_cross_entropy_t ce;
} setup_t;

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t row_stride, int64_t col_stride) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_HOST, row_stride, col_stride};
}

static void prepare(setup_t *s) {
  memset(s, 0, sizeof *s);
  uint64_t random = 1;
  for (int i = 0; i < kLogits; ++i) {
    s->logits[i] = (float)(random_unit(&random) * 8 - 4);
    s->gradient[i] = kCanary;
  }
  for (int i = 0; i < kLabels; ++i) {
    s->y[i] = i % kVocab;
    s->weights[i] = 1;
    s->losses[i] = s->lse[i] = kCanary;
    s->argmax[i] = (int32_t)kCanary;
  }
  s->labels = (tokavg_labels_t){.struct_size = sizeof s->labels, .rows = kRows, .cols = kCols};
  s->labels.labels = array_of(s->y, TOKAVG_DTYPE_I64, kCols, 1);
  s->labels.weights = array_of(s->weights, TOKAVG_DTYPE_F64, kCols, 1);
  s->ce = (tokavg_cross_entropy_t){.struct_size = sizeof s->ce, .vocab = kVocab, .labels = &s->labels};
  s->ce.logits = array_of(s->logits, TOKAVG_DTYPE_F32, kPerRow, kStride);
  s->ce.gradient_out = array_of(s->gradient, TOKAVG_DTYPE_F32, kPerRow, kStride);
  s->ce.losses_out = array_of(s->losses, TOKAVG_DTYPE_F32, kCols, 1);
  s->ce.lse_out = array_of(s->lse, TOKAVG_DTYPE_F32, kCols, 1);
  s->ce.argmax_out = array_of(s->argmax, TOKAVG_DTYPE_I32, kCols, 1);
}

static float *row_of(float *array, int64_t i) { return array + i * kStride; }

static void set_row(setup_t *s, int64_t i, float value) {
  for (int k = 0; k < kVocab; ++k) row_of(s->logits, i)[k] = value;
}

static void assert_row_is_zero(setup_t *s, int64_t i) {
  const float zeros[kVocab] = {0};
  assert_memory_equal(row_of(s->gradient, i), zeros, sizeof zeros);
}

static int row_is_finite(setup_t *s, int64_t i) {
  int finite = 1;
  for (int k = 0; k < kVocab; ++k) finite = finite && isfinite(row_of(s->gradient, i)[k]);
  return finite;
}

static void assert_spare_columns_untouched(const setup_t *s) {
  for (int i = 0; i < kLabels; ++i) assert_true(s->gradient[i * kStride + kVocab] == kCanary);
}

static void rows_that_are_not_scored_are_not_read(void **state) {
  (void)state;
  setup_t s;
  prepare(&s);
  s.y[2] = -100;
  s.weights[2] = NAN;
  set_row(&s, 2, NAN);
  uint8_t mask[kLabels] = {1, 1, 1, 1, 1, 0, 1, 1};
  s.y[5] = 99; /* no class, but masked */
  set_row(&s, 5, NAN);
  s.labels.mask = array_of(mask, TOKAVG_DTYPE_U8, kCols, 1);
  const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
  assert_int_equal(got.status, TOKAVG_OK);
  assert_int_equal(got.tokens, 6);
  assert_int_equal(got.nonfinite, 0);
  for (int i = 0; i < kLabels; ++i) {
    const int scored = i != 2 && i != 5;
    assert_true((s.losses[i] > 0) == scored);
    assert_true((s.argmax[i] >= 0) == scored);
    if (!scored) {
      assert_row_is_zero(&s, i);
      assert_true(s.losses[i] == 0 && s.lse[i] == 0 && s.argmax[i] == -1);
    }
  }
  assert_spare_columns_untouched(&s);
}

static void shifted_labels(void **state) {
  (void)state;
  setup_t straight, s;
  prepare(&straight);
  internal_cross_entropy(&straight.ce, -100, 1);
  prepare(&s);
  s.labels.shift = 1;
  s.y[0] = s.y[4] = 99; /* the first column is not scored */
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 1; c < kCols; ++c) s.y[r * kCols + c] = straight.y[r * kCols + c - 1];
    set_row(&s, r * kCols + kCols - 1, NAN); /* nothing is predicted from the last position */
  }
  assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).tokens, kRows * (kCols - 1));
  for (int64_t r = 0; r < kRows; ++r) {
    assert_true(s.losses[r * kCols] == 0);
    for (int64_t j = 0; j + 1 < kCols; ++j) {
      const int64_t i = r * kCols + j;
      assert_true(s.losses[i + 1] == straight.losses[i]);
      assert_true(s.lse[i] == straight.lse[i] && s.argmax[i] == straight.argmax[i]);
      assert_memory_equal(row_of(s.gradient, i), row_of(straight.gradient, i), kVocab * sizeof(float));
    }
    const int64_t last = r * kCols + kCols - 1;
    assert_row_is_zero(&s, last);
    assert_true(s.lse[last] == 0 && s.argmax[last] == -1);
  }
}

static void a_row_no_wider_than_the_shift_scores_nothing(void **state) {
  (void)state;
  const int64_t shifts[] = {kCols, kCols + 1, INT64_MAX};
  for (int i = 0; i < 3; ++i) {
    setup_t s;
    prepare(&s);
    s.labels.shift = shifts[i];
    for (int64_t row = 0; row < kLabels; ++row) set_row(&s, row, NAN);
    const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
    assert_int_equal(got.status, TOKAVG_OK);
    assert_int_equal(got.tokens, 0);
    for (int64_t row = 0; row < kLabels; ++row) {
      assert_row_is_zero(&s, row);
      assert_true(s.losses[row] == 0 && s.lse[row] == 0 && s.argmax[row] == -1);
    }
    assert_spare_columns_untouched(&s);
  }
}

static void a_nan_logit_spoils_its_row_alone(void **state) {
  (void)state;
  for (int k = 0; k < kVocab; ++k) {
    setup_t clean, s;
    prepare(&clean);
    internal_cross_entropy(&clean.ce, -100, 1);
    prepare(&s);
    row_of(s.logits, 3)[k] = NAN;
    const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
    assert_int_equal(got.tokens, kLabels);
    assert_int_equal(got.nonfinite, 1);
    for (int64_t i = 0; i < kLabels; ++i) {
      if (i != 3) {
        assert_true(s.losses[i] == clean.losses[i]);
        assert_memory_equal(row_of(s.gradient, i), row_of(clean.gradient, i), kVocab * sizeof(float));
        continue;
      }
      assert_true(isnan(s.losses[i]) && isnan(s.lse[i]));
      for (int n = 0; n < kVocab; ++n) assert_true(isnan(row_of(s.gradient, i)[n]));
    }
    if (k != clean.argmax[3]) assert_int_equal(s.argmax[3], clean.argmax[3]); /* NaN is never the largest */
  }
}

static void minus_infinity_rules_a_class_out(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; ++kind) { /* plain, z-loss */
    setup_t s;
    prepare(&s);
    s.ce.z_loss = kind == 1 ? 0.5 : 0;
    row_of(s.logits, 0)[1] = row_of(s.logits, 0)[4] = -INFINITY;
    assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).nonfinite, 0);
    assert_true(isfinite(s.losses[0]) && row_is_finite(&s, 0));
    assert_true(row_of(s.gradient, 0)[1] == 0 && row_of(s.gradient, 0)[4] == 0);
  }
  /* With smoothing, or as the label, its loss is infinite; under a cap it is an ordinary number. */
  setup_t s;
  prepare(&s);
  s.ce.label_smoothing = 0.1;
  row_of(s.logits, 0)[1] = -INFINITY;
  assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).nonfinite, 1);
  assert_true(isinf(s.losses[0]) && row_is_finite(&s, 0));
  prepare(&s);
  row_of(s.logits, 0)[0] = -INFINITY;
  assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).nonfinite, 1);
  assert_true(isinf(s.losses[0]) && row_of(s.gradient, 0)[0] == -1);
  prepare(&s);
  s.ce.logit_softcap = 3;
  row_of(s.logits, 0)[0] = -INFINITY;
  row_of(s.logits, 0)[1] = INFINITY;
  assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).nonfinite, 0);
  assert_true(s.losses[0] >= 6 && row_is_finite(&s, 0));
  assert_true(row_of(s.gradient, 0)[0] == 0 && row_of(s.gradient, 0)[1] == 0);
  assert_int_equal(s.argmax[0], 1);
}

static void equal_logits(void **state) {
  (void)state;
  setup_t s;
  prepare(&s);
  for (int64_t i = 0; i < kLabels; ++i) set_row(&s, i, 1e30f); /* far beyond the range of exp */
  s.labels.label_base = 1;
  for (int64_t i = 0; i < kLabels; ++i) ++s.y[i];
  internal_cross_entropy(&s.ce, -100, 1);
  for (int64_t i = 0; i < kLabels; ++i) {
    assert_true(s.losses[i] == (float)log(5.0));
    assert_int_equal(s.argmax[i], 1); /* the first class, one-based */
    for (int k = 0; k < kVocab; ++k) {
      assert_true(row_of(s.gradient, i)[k] == (k == s.y[i] - 1 ? -0.8f : 0.2f));
    }
  }
}

static void rows_without_a_finite_largest_logit_are_nan(void **state) {
  (void)state;
  for (int positive = 0; positive < 2; ++positive) {
    setup_t s;
    prepare(&s);
    set_row(&s, 1, -INFINITY);
    if (positive) row_of(s.logits, 1)[3] = INFINITY;
    assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).nonfinite, 1);
    assert_true(isnan(s.losses[1]) && isnan(row_of(s.gradient, 1)[0]));
    assert_int_equal(s.argmax[1], positive ? 3 : 0);
  }
}

static void in_place_is_the_same(void **state) {
  (void)state;
  const int32_t dtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
  for (int d = 0; d < 3; ++d) {
    setup_t apart, in_place;
    setup_t *both[] = {&apart, &in_place};
    for (int b = 0; b < 2; ++b) {
      prepare(both[b]);
      if (d > 0) {
        uint16_t *halves = (uint16_t *)both[b]->logits;
        for (int i = 0; i < kLogits; ++i) halves[i] = (uint16_t)((i * 7919) % 0x800 + 0x3c00); /* 1 to 4, or to 2^16 */
      }
      both[b]->y[1] = -100;
      both[b]->labels.shift = 1;
      both[b]->ce.label_smoothing = 0.1;
      both[b]->ce.z_loss = 1e-3;
      both[b]->ce.logit_softcap = 30;
      both[b]->ce.logits.dtype = both[b]->ce.gradient_out.dtype = dtypes[d];
    }
    in_place.ce.gradient_out = in_place.ce.logits;
    const internal_outcome_t expected = internal_cross_entropy(&apart.ce, -100, 0.125);
    const internal_outcome_t got = internal_cross_entropy(&in_place.ce, -100, 0.125);
    assert_int_equal(expected.status, TOKAVG_OK);
    assert_true(got.sum.units == expected.sum.units);
    assert_memory_equal(in_place.losses, apart.losses, sizeof apart.losses);
    const size_t size = d == 0 ? sizeof(float) : sizeof(uint16_t);
    const char *actual = (const char *)in_place.logits, *wanted = (const char *)apart.gradient;
    for (size_t i = 0; i < kLabels; ++i) {
      assert_memory_equal(actual + i * kStride * size, wanted + i * kStride * size, kVocab * size);
    }
  }
}

static void assert_untouched(const setup_t *s) {
  for (int i = 0; i < kLogits; ++i) assert_true(s->gradient[i] == kCanary);
  for (int i = 0; i < kLabels; ++i) {
    assert_true(s->losses[i] == kCanary && s->lse[i] == kCanary && s->argmax[i] == (int32_t)kCanary);
  }
}

static void bad_labels_are_named_and_nothing_is_written(void **state) {
  (void)state;
  const struct {
    int32_t base;
    int64_t label;
    const char *text;
  } cases[] = {
      {0, -1, "row 1, column 3 is -1;"},
      {0, 5, "row 1, column 3 is 5;"},
      {1, 0, "row 1, column 3 is 0;"},
      {1, 6, "row 1, column 3 is 6;"},
      {0, INT64_MIN, "row 1, column 3 is -9223372036854775808;"},
      {1, INT64_MAX, "row 1, column 3 is 9223372036854775807;"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    setup_t s;
    prepare(&s);
    for (int k = 0; k < kLabels; ++k) s.y[k] += cases[i].base;
    s.labels.label_base = cases[i].base;
    assert_int_equal(internal_cross_entropy(&s.ce, -100, 1).status, TOKAVG_OK);
    prepare(&s);
    for (int k = 0; k < kLabels; ++k) s.y[k] += cases[i].base;
    s.labels.label_base = cases[i].base;
    s.y[kLabels - 1] = cases[i].label;
    const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
    assert_int_equal(got.status, TOKAVG_ERR_LABEL);
    assert_non_null(strstr(got.text, cases[i].text));
    assert_untouched(&s);
  }
}

static void bad_weights_write_nothing(void **state) {
  (void)state;
  setup_t s;
  prepare(&s);
  s.weights[kLabels - 1] = NAN;
  const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
  assert_int_equal(got.status, TOKAVG_ERR_WEIGHT);
  assert_non_null(strstr(got.text, "row 1, column 3 is nan"));
  assert_untouched(&s);
}

static void weight_zero_silences_a_row(void **state) {
  (void)state;
  setup_t s;
  prepare(&s);
  s.weights[1] = 0;
  s.weights[2] = -0.0;
  set_row(&s, 1, NAN);
  const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
  assert_int_equal(got.tokens, kLabels);
  assert_int_equal(got.nonfinite, 0);
  assert_row_is_zero(&s, 1);
  assert_row_is_zero(&s, 2);
  assert_true(isnan(s.losses[1]) && s.losses[2] > 0 && s.argmax[2] >= 0);
  double sum = 0;
  for (int i = 0; i < kLabels; ++i) sum += i == 1 || i == 2 ? 0 : (double)s.losses[i];
  assert_true(got.sum.value == sum); /* few floats of like size: exact */
}

static void factor_zero_gives_zeros(void **state) {
  (void)state;
  setup_t s;
  prepare(&s);
  set_row(&s, 1, NAN);
  assert_int_equal(internal_cross_entropy(&s.ce, -100, 0).nonfinite, 1);
  for (int64_t i = 0; i < kLabels; ++i) assert_row_is_zero(&s, i);
  assert_spare_columns_untouched(&s);
  assert_true(s.losses[0] > 0);
}

static void every_output_is_optional(void **state) {
  (void)state;
  setup_t full, s;
  prepare(&full);
  const internal_outcome_t expected = internal_cross_entropy(&full.ce, -100, 1);
  prepare(&s);
  s.ce.gradient_out.data = s.ce.losses_out.data = s.ce.lse_out.data = s.ce.argmax_out.data = NULL;
  const internal_outcome_t got = internal_cross_entropy(&s.ce, -100, 1);
  assert_true(got.tokens == kLabels && got.sum.units == expected.sum.units);
  assert_untouched(&s);
}

static void halves_overflow_to_infinity(void **state) {
  (void)state;
  uint16_t logits[2] = {0x3c00, 0x3c00}, gradient[2];
  setup_t s;
  prepare(&s);
  s.labels.rows = s.labels.cols = 1;
  s.ce.vocab = 2;
  s.ce.logits = array_of(logits, TOKAVG_DTYPE_F16, 2, 2);
  s.ce.gradient_out = array_of(gradient, TOKAVG_DTYPE_F16, 2, 2);
  assert_int_equal(internal_cross_entropy(&s.ce, -100, 131040).status, TOKAVG_OK); /* 65520 is the first too large */
  assert_true(gradient[0] == 0xfc00 && gradient[1] == 0x7c00);
  internal_cross_entropy(&s.ce, -100, 131038);
  assert_true(gradient[0] == 0xfbff && gradient[1] == 0x7bff);
  internal_cross_entropy(&s.ce, -100, 0x1.8p-23); /* 1.5 units of the subnormals: to even */
  assert_true(gradient[0] == 0x8002 && gradient[1] == 0x0002);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_that_are_not_scored_are_not_read),
      cmocka_unit_test(shifted_labels),
      cmocka_unit_test(a_row_no_wider_than_the_shift_scores_nothing),
      cmocka_unit_test(a_nan_logit_spoils_its_row_alone),
      cmocka_unit_test(minus_infinity_rules_a_class_out),
      cmocka_unit_test(equal_logits),
      cmocka_unit_test(rows_without_a_finite_largest_logit_are_nan),
      cmocka_unit_test(in_place_is_the_same),
      cmocka_unit_test(bad_labels_are_named_and_nothing_is_written),
      cmocka_unit_test(bad_weights_write_nothing),
      cmocka_unit_test(weight_zero_silences_a_row),
      cmocka_unit_test(factor_zero_gives_zeros),
      cmocka_unit_test(every_output_is_optional),
      cmocka_unit_test(halves_overflow_to_infinity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
