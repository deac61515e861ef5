/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy by the kernels where something is missing, wrong, infinite or not a number. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "cuda_kernels/kernels.h"
#include "support/random.h"
#include "support/simd.h"

enum { kRows = 2, kCols = 4, kVocab = 21, kStride = 23, kPerRow = kCols * kStride, kLogits = kRows * kPerRow };
enum { kLabels = kRows * kCols };

static const float kCanary = 12345;
static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};

/* Logits with two spare columns, labels and every output. */
typedef struct setup {
  float logits[kLogits], gradient[kLogits]; /* or halves in half the room */
  float losses[kLabels], lse[kLabels];
  double weights[kLabels];
  int64_t y[kLabels];
  int32_t argmax[kLabels];
  tokavg_labels_t labels;
  tokavg_cross_entropy_t ce;
  kernels_multiplier_t scale;
} setup_t;

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t row_stride, int64_t col_stride) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_CUDA, row_stride, col_stride};
}

static void prepare_as(setup_t *s, int32_t dtype) {
  memset(s, 0, sizeof *s);
  uint64_t random = 1;
  for (int i = 0; i < kLogits; ++i) {
    simd_write(s->logits, dtype, i, random_unit(&random) * 8 - 4);
    simd_write(s->gradient, dtype, i, (double)kCanary);
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
  s->ce.logits = array_of(s->logits, dtype, kPerRow, kStride);
  s->ce.gradient_out = array_of(s->gradient, dtype, kPerRow, kStride);
  s->ce.losses_out = array_of(s->losses, TOKAVG_DTYPE_F32, kCols, 1);
  s->ce.lse_out = array_of(s->lse, TOKAVG_DTYPE_F32, kCols, 1);
  s->ce.argmax_out = array_of(s->argmax, TOKAVG_DTYPE_I32, kCols, 1);
  s->scale = (kernels_multiplier_t){.scale = 1};
}

static void prepare(setup_t *s) { prepare_as(s, TOKAVG_DTYPE_F32); }

static int32_t dtype_of(const setup_t *s) { return s->ce.logits.dtype; }

static double logit(const setup_t *s, int64_t i, int k) { return simd_read(s->logits, dtype_of(s), i * kStride + k); }
static double slope(const setup_t *s, int64_t i, int k) { return simd_read(s->gradient, dtype_of(s), i * kStride + k); }
static void set(setup_t *s, int64_t i, int k, double value) {
  simd_write(s->logits, dtype_of(s), i * kStride + k, value);
}
static void set_row(setup_t *s, int64_t i, double value) {
  for (int k = 0; k < kVocab; ++k) set(s, i, k, value);
}

/* Both paths; the second one only has to say the same. */
static kernels_cell_t run(setup_t *s) {
  setup_t other = *s;
  other.ce.labels = &other.labels;
  other.labels.labels.data = other.y;
  other.labels.weights.data = other.weights;
  tokavg_array_t *outputs[] = {&other.ce.logits, &other.ce.gradient_out, &other.ce.losses_out, &other.ce.lse_out,
                               &other.ce.argmax_out};
  for (int i = 0; i < 5; ++i) {
    if (outputs[i]->data != NULL) outputs[i]->data = (char *)&other + ((char *)outputs[i]->data - (char *)s);
  }
  const kernels_cell_t got = kernels_cross_entropy(&s->ce, -100, 0, &s->scale, KERNELS_BLOCKS);
  if (got.status != TOKAVG_OK) fail_msg("%s", got.text);
  if (!kernels_can(KERNELS_CLUSTERS, kVocab, dtype_of(s))) return got;
  const kernels_cell_t same = kernels_cross_entropy(&other.ce, -100, 0, &other.scale, KERNELS_CLUSTERS);
  assert_int_equal(same.status, TOKAVG_OK);
  assert_memory_equal(&same, &got, sizeof same);
  assert_memory_equal(other.logits, s->logits, sizeof s->logits);
  assert_memory_equal(other.gradient, s->gradient, sizeof s->gradient);
  assert_memory_equal(other.losses, s->losses, sizeof s->losses);
  assert_memory_equal(other.lse, s->lse, sizeof s->lse);
  assert_memory_equal(other.argmax, s->argmax, sizeof s->argmax);
  return got;
}

static void assert_row_is_zero(const setup_t *s, int64_t i) {
  const size_t size = simd_size_of(dtype_of(s));
  const float zeros[kVocab] = {0};
  assert_memory_equal((const char *)s->gradient + (size_t)(i * kStride) * size, zeros, kVocab * size);
}

static int row_is_finite(const setup_t *s, int64_t i) {
  int finite = 1;
  for (int k = 0; k < kVocab; ++k) finite = finite && isfinite(slope(s, i, k));
  return finite;
}

static void assert_row_is_nan(const setup_t *s, int64_t i) {
  static const uint32_t f32 = 0x7fc00000;
  static const uint16_t bf16 = 0x7fc0, f16 = 0x7e00;
  const size_t size = simd_size_of(dtype_of(s));
  const void *nan = dtype_of(s) == TOKAVG_DTYPE_F32    ? (const void *)&f32
                    : dtype_of(s) == TOKAVG_DTYPE_BF16 ? &bf16
                                                       : &f16;
  for (int k = 0; k < kVocab; ++k) {
    assert_memory_equal((const char *)s->gradient + (size_t)(i * kStride + k) * size, nan, size);
  }
  assert_memory_equal(&s->losses[i], &f32, sizeof f32);
  assert_memory_equal(&s->lse[i], &f32, sizeof f32);
}

static void assert_spare_columns_untouched(const setup_t *s) {
  setup_t fresh;
  prepare_as(&fresh, dtype_of(s));
  for (int i = 0; i < kLabels; ++i) {
    for (int k = kVocab; k < kStride; ++k) assert_true(slope(s, i, k) == slope(&fresh, i, k));
  }
}

static void rows_that_are_not_scored_are_not_read(void **state) {
  (void)state;
  for (int d = 0; d < 3; ++d) {
    setup_t s;
    prepare_as(&s, kDtypes[d]);
    s.y[2] = -100;
    s.weights[2] = (double)NAN;
    set_row(&s, 2, (double)NAN);
    uint8_t mask[kLabels] = {1, 1, 1, 1, 1, 0, 1, 1};
    s.y[5] = 99; /* no class, but masked */
    set_row(&s, 5, (double)NAN);
    s.labels.mask = array_of(mask, TOKAVG_DTYPE_U8, kCols, 1);
    const kernels_cell_t got = run(&s);
    assert_int_equal(got.loss_tokens, 6);
    assert_int_equal(got.nonfinite + got.bad_labels + got.bad_weights, 0);
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
}

static void a_row_no_wider_than_the_shift_scores_nothing(void **state) {
  (void)state;
  const int64_t shifts[] = {kCols, kCols + 1, INT64_MAX};
  for (int i = 0; i < 3; ++i) {
    setup_t s;
    prepare(&s);
    s.labels.shift = shifts[i];
    for (int64_t row = 0; row < kLabels; ++row) set_row(&s, row, (double)NAN);
    assert_int_equal(run(&s).loss_tokens, 0);
    for (int64_t row = 0; row < kLabels; ++row) {
      assert_row_is_zero(&s, row);
      assert_true(s.losses[row] == 0 && s.lse[row] == 0 && s.argmax[row] == -1);
    }
    assert_spare_columns_untouched(&s);
  }
}

static void a_nan_logit_spoils_its_row_alone(void **state) {
  (void)state;
  static const double caps[] = {0, 3, 1e20};
  for (int i = 0; i < 3 * 3 * kVocab; ++i) {
    const int k = i / 9;
    setup_t clean, s;
    prepare_as(&clean, kDtypes[i % 3]);
    clean.ce.logit_softcap = caps[i / 3 % 3];
    run(&clean);
    prepare_as(&s, kDtypes[i % 3]);
    s.ce.logit_softcap = caps[i / 3 % 3];
    set(&s, 3, k, k % 2 == 0 ? (double)NAN : -(double)NAN);
    const kernels_cell_t got = run(&s);
    assert_int_equal(got.loss_tokens, kLabels);
    assert_int_equal(got.nonfinite, 1);
    for (int64_t row = 0; row < kLabels; ++row) {
      if (row == 3) {
        assert_row_is_nan(&s, row);
        continue;
      }
      assert_true(s.losses[row] == clean.losses[row]);
      for (int n = 0; n < kVocab; ++n) assert_true(slope(&s, row, n) == slope(&clean, row, n));
    }
    if (k != clean.argmax[3]) assert_int_equal(s.argmax[3], clean.argmax[3]); /* NaN is never the largest */
  }
}

static void minus_infinity_rules_a_class_out(void **state) {
  (void)state;
  for (int i = 0; i < 6; ++i) { /* plain, z-loss */
    setup_t s;
    prepare_as(&s, kDtypes[i % 3]);
    s.ce.z_loss = i / 3 == 1 ? 0.5 : 0;
    set(&s, 0, 1, -(double)INFINITY);
    set(&s, 0, 20, -(double)INFINITY);
    assert_int_equal(run(&s).nonfinite, 0);
    assert_true(isfinite(s.losses[0]) && row_is_finite(&s, 0));
    assert_true(slope(&s, 0, 1) == 0 && slope(&s, 0, 20) == 0);
  }
  /* All but the label: certain. */
  setup_t s;
  prepare(&s);
  set_row(&s, 0, -(double)INFINITY);
  set(&s, 0, 0, 3);
  assert_int_equal(run(&s).nonfinite, 0);
  assert_true(s.losses[0] == 0 && s.lse[0] == 3);
  assert_row_is_zero(&s, 0);
  /* With smoothing, or as the label, its loss is infinite; under a cap it is an ordinary number. */
  prepare(&s);
  s.ce.label_smoothing = 0.1;
  set(&s, 0, 1, -(double)INFINITY);
  assert_int_equal(run(&s).nonfinite, 1);
  assert_true(isinf(s.losses[0]) && row_is_finite(&s, 0));
  prepare(&s);
  set(&s, 0, 0, -(double)INFINITY);
  assert_int_equal(run(&s).nonfinite, 1);
  assert_true(isinf(s.losses[0]) && slope(&s, 0, 0) == -1);
  prepare(&s);
  s.ce.logit_softcap = 3;
  set(&s, 0, 0, -(double)INFINITY);
  set(&s, 0, 1, (double)INFINITY);
  assert_int_equal(run(&s).nonfinite, 0);
  assert_true(s.losses[0] >= 6 && row_is_finite(&s, 0));
  assert_true(slope(&s, 0, 0) == 0 && slope(&s, 0, 1) == 0);
  assert_int_equal(s.argmax[0], 1);
}

static void equal_logits(void **state) {
  (void)state;
  static const double levels[] = {1e30, -1e30, 0, 1000, -60000, 0x1.fep127};
  for (int level = 0; level < 6; ++level) { /* far beyond the range of exp */
    setup_t s;
    prepare(&s);
    for (int64_t i = 0; i < kLabels; ++i) set_row(&s, i, levels[level]);
    s.labels.label_base = 1;
    for (int64_t i = 0; i < kLabels; ++i) ++s.y[i];
    run(&s);
    for (int64_t i = 0; i < kLabels; ++i) {
      assert_true(fabs((double)s.losses[i] - log(21.0)) < 2e-7 * log(21.0));
      assert_int_equal(s.argmax[i], 1); /* the first class, one-based */
      for (int k = 0; k < kVocab; ++k) {
        assert_true(fabs(slope(&s, i, k) - (k == s.y[i] - 1 ? -20.0 / 21 : 1.0 / 21)) < 1e-7);
      }
    }
  }
}

static void rows_without_a_finite_largest_logit_are_nan(void **state) {
  (void)state;
  for (int i = 0; i < 9; ++i) {
    setup_t s;
    prepare_as(&s, kDtypes[i % 3]);
    set_row(&s, 1, -(double)INFINITY);
    if (i / 3 == 1) set(&s, 1, 3, (double)INFINITY);
    if (i / 3 == 2) set(&s, 1, 1, (double)INFINITY); /* the label */
    assert_int_equal(run(&s).nonfinite, 1);
    assert_row_is_nan(&s, 1);
    const int expected[] = {0, 3, 1};
    assert_int_equal(s.argmax[1], expected[i / 3]);
  }
}

static void the_first_of_the_largest(void **state) {
  (void)state;
  uint64_t random = 2;
  for (int i = 0; i < 120; ++i) {
    setup_t s;
    prepare_as(&s, kDtypes[i % 3]);
    int expected = -1;
    for (int k = 0; k < kVocab; ++k) {
      const double value = i % 4 == 0   ? (random_below(&random, 2) ? 0.0 : -0.0)
                           : i % 4 == 1 ? (random_below(&random, 2) ? (double)NAN : -(double)INFINITY)
                           : i % 4 == 2 ? (double)NAN
                                        : (double)random_below(&random, 3);
      set(&s, 4, k, value);
      if (!isnan(value) && (expected < 0 || value > logit(&s, 4, expected))) expected = k;
    }
    s.y[4] = random_below(&random, kVocab);
    run(&s);
    assert_int_equal(s.argmax[4], expected < 0 ? 0 : expected);
  }
}

static void bad_labels_are_counted(void **state) {
  (void)state;
  const struct {
    int32_t base;
    int64_t label;
  } cases[] = {{0, -1}, {0, kVocab}, {1, 0}, {1, kVocab + 1}, {0, INT64_MIN}, {1, INT64_MAX}, {0, (int64_t)1 << 32}};
  for (int i = 0; i < 7 * 2; ++i) {
    setup_t clean, s;
    setup_t *both[] = {&clean, &s};
    for (int b = 0; b < 2; ++b) {
      prepare(both[b]);
      both[b]->labels.label_base = cases[i / 2].base;
      for (int k = 0; k < kLabels; ++k) both[b]->y[k] += cases[i / 2].base;
    }
    s.y[kLabels - 1] = cases[i / 2].label;
    set_row(&s, kLabels - 1, (double)NAN); /* not read */
    s.weights[kLabels - 1] = i % 2;
    const kernels_cell_t expected = run(&clean), got = run(&s);
    assert_int_equal(expected.bad_labels, 0);
    assert_int_equal(got.bad_labels, 1);
    assert_int_equal(got.loss_tokens, kLabels);
    assert_int_equal(got.nonfinite, i % 2);
    const uint32_t nan = 0x7fc00000;
    assert_memory_equal(&s.losses[kLabels - 1], &nan, sizeof nan);
    assert_true(s.lse[kLabels - 1] == 0 && s.argmax[kLabels - 1] == -1);
    assert_row_is_zero(&s, kLabels - 1);
    for (int64_t row = 0; row < kLabels - 1; ++row) assert_true(s.losses[row] == clean.losses[row]);
  }
}

static void bad_weights_spoil_their_losses(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY, 0x1p22};
  for (int i = 0; i < 3; ++i) {
    setup_t s;
    prepare(&s);
    s.weights[3] = bad[i];
    const kernels_cell_t got = run(&s);
    assert_true(got.loss_tokens == kLabels && got.bad_weights == 1 && got.nonfinite == 1 && s.losses[3] > 0);
  }
}

static void weight_zero_silences_a_row(void **state) {
  (void)state;
  setup_t s;
  prepare(&s);
  s.weights[1] = 0;
  s.weights[2] = -0.0;
  set_row(&s, 1, (double)NAN);
  const kernels_cell_t got = run(&s);
  assert_int_equal(got.loss_tokens, kLabels);
  assert_int_equal(got.nonfinite, 0);
  assert_row_is_zero(&s, 1);
  assert_row_is_zero(&s, 2);
  assert_true(isnan(s.losses[1]) && s.losses[2] > 0 && s.argmax[2] >= 0);
  double sum = 0;
  for (int i = 0; i < kLabels; ++i) sum += i == 1 || i == 2 ? 0 : (double)s.losses[i];
  assert_true(got.losses.value == sum); /* few floats of like size: exact */
}

static void factor_zero_gives_zeros(void **state) {
  (void)state;
  for (int i = 0; i < 9; ++i) {
    setup_t s;
    prepare_as(&s, kDtypes[i % 3]);
    set_row(&s, 1, (double)NAN);
    s.scale.has_factor = s.scale.has_scale_device = 1;
    s.scale.factor = i / 3 == 1 ? -0.0 : 0.0;
    s.scale.scale_device = i / 3 == 2 ? INFINITY : 1;
    assert_int_equal(run(&s).nonfinite, 1);
    for (int64_t row = 0; row < kLabels; ++row) assert_row_is_zero(&s, row);
    assert_spare_columns_untouched(&s);
    assert_true(s.losses[0] > 0);
  }
}

static void every_output_is_optional(void **state) {
  (void)state;
  setup_t full, s;
  prepare(&full);
  const kernels_cell_t expected = run(&full);
  for (int missing = 1; missing < 16; ++missing) {
    prepare(&s);
    if ((missing & 1) != 0) s.ce.gradient_out.data = NULL;
    if ((missing & 2) != 0) s.ce.losses_out.data = NULL;
    if ((missing & 4) != 0) s.ce.lse_out.data = NULL;
    if ((missing & 8) != 0) s.ce.argmax_out.data = NULL;
    const kernels_cell_t got = run(&s);
    assert_true(got.losses.units == expected.losses.units && got.loss_tokens == kLabels);
    if ((missing & 1) == 0) assert_memory_equal(s.gradient, full.gradient, sizeof s.gradient);
    if ((missing & 2) == 0) assert_memory_equal(s.losses, full.losses, sizeof s.losses);
    if ((missing & 4) == 0) assert_memory_equal(s.lse, full.lse, sizeof s.lse);
    if ((missing & 8) == 0) assert_memory_equal(s.argmax, full.argmax, sizeof s.argmax);
    for (int i = 0; i < kLabels; ++i) {
      if ((missing & 2) != 0) assert_true(s.losses[i] == kCanary);
      if ((missing & 8) != 0) assert_int_equal(s.argmax[i], (int32_t)kCanary);
    }
  }
}

/* A class of which the float sum knows nothing is written in double and rounded once. */
static void a_certain_class_keeps_its_digits(void **state) {
  (void)state;
  for (int d = 0; d < 3; ++d) {
    for (int above = 1; above <= 60; ++above) {
      setup_t s;
      prepare_as(&s, kDtypes[d]);
      set_row(&s, 0, -1000);
      set(&s, 0, 0, above);
      set(&s, 0, 1, 0);
      s.scale.scale = d == 2 && above > 8 ? 65536 * 256.0 : 1;
      run(&s);
      const double tiny = 1 / (1 + exp(above)), loss = log1p(exp(-above));
      assert_true(fabs((double)s.losses[0] - loss) <= 2e-7 * loss);
      const double error = d == 0 ? 2e-7 : d == 1 ? 0.004 : 0x1p-10, least = d == 2 ? 0x1p-14 : 1e-37;
      const double expected = -tiny * s.scale.scale;
      if (fabs(expected) > least && fabs(expected) < 65000)
        assert_true(fabs(slope(&s, 0, 0) - expected) <= error * fabs(expected));
    }
  }
}

static void halves_overflow_to_infinity(void **state) {
  (void)state;
  const struct {
    double factor;
    uint16_t label, other;
  } cases[] = {{131042, 0xfc00, 0x7c00}, /* 65520 is the first too large */
               {131036, 0xfbff, 0x7bff},
               {0x1.99p-23, 0x8002, 0x0002}, /* 1.6 and 1.4 units of the subnormals */
               {0x1.66p-23, 0x8001, 0x0001}};
  for (int i = 0; i < 4; ++i) {
    uint16_t logits[2] = {0x3c00, 0x3c00}, gradient[2];
    setup_t s;
    prepare(&s);
    s.labels.rows = s.labels.cols = 1;
    s.ce.vocab = 2;
    s.ce.logits = array_of(logits, TOKAVG_DTYPE_F16, 2, 2);
    s.ce.gradient_out = array_of(gradient, TOKAVG_DTYPE_F16, 2, 2);
    s.scale.scale = cases[i].factor;
    assert_int_equal(kernels_cross_entropy(&s.ce, -100, 0, &s.scale, KERNELS_CHOSEN).status, TOKAVG_OK);
    assert_true(gradient[0] == cases[i].label && gradient[1] == cases[i].other);
  }
}

/* Cut to what float holds: infinity would make NaN of a class without probability. */
static void factors_beyond_float(void **state) {
  (void)state;
  static const double factors[] = {1e38, -1e39, 1e300};
  for (int i = 0; i < 9; ++i) {
    setup_t s;
    prepare_as(&s, kDtypes[i % 3]);
    for (int k = 9; k < kVocab; ++k) set(&s, 0, k, -(double)INFINITY);
    s.scale.scale = factors[i / 3];
    run(&s);
    for (int k = 0; k < kVocab; ++k) {
      const double g = slope(&s, 0, k) * (factors[i / 3] > 0 ? 1 : -1);
      assert_true(k >= 9 ? g == 0 : k == 0 ? g < -60000 : g > 60000);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_that_are_not_scored_are_not_read),
      cmocka_unit_test(a_row_no_wider_than_the_shift_scores_nothing),
      cmocka_unit_test(a_nan_logit_spoils_its_row_alone),
      cmocka_unit_test(minus_infinity_rules_a_class_out),
      cmocka_unit_test(equal_logits),
      cmocka_unit_test(rows_without_a_finite_largest_logit_are_nan),
      cmocka_unit_test(the_first_of_the_largest),
      cmocka_unit_test(bad_labels_are_counted),
      cmocka_unit_test(bad_weights_spoil_their_losses),
      cmocka_unit_test(weight_zero_silences_a_row),
      cmocka_unit_test(factor_zero_gives_zeros),
      cmocka_unit_test(every_output_is_optional),
      cmocka_unit_test(a_certain_class_keeps_its_digits),
      cmocka_unit_test(halves_overflow_to_infinity),
      cmocka_unit_test(factors_beyond_float),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
