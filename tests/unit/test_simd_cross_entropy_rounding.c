/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the vector kernels where their rounding matters: ties, overflow, subnormals, classes that are nearly
   certain, and sums over the classes. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>

#include "support/accuracy.h"
#include "support/batch.h"
#include "support/internal.h"
#include "support/logits.h"
#include "support/random.h"
#include "support/simd.h"

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};

/* Equal logits of 2^n classes: p is exact, and so the gradient of each but the label is `value` before it is rounded.
 */
static void check_value(batch_t *batch, double value) {
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  const int64_t vocab = batch->rows.vocab;
  batch->rows.factor = value * (double)vocab;
  for (int t = 0; t < n; ++t) {
    simd_use(targets[t], 1);
    simd_results_t got = simd_run(&batch->rows);
    const uint16_t wanted = internal_to_half(value, batch->rows.dtype);
    for (int64_t k = 0; k < vocab; ++k) {
      const uint16_t bits = ((const uint16_t *)got.gradient)[k];
      if (k != batch->labels[0] && bits != wanted) {
        fail_msg("%s, dtype %d, vocab %d, class %d: %a became %04x, not %04x", targets[t], batch->rows.dtype,
                 (int)vocab, (int)k, value, bits, wanted);
      }
    }
    simd_free(&got);
  }
}

static batch_t equal_logits(int32_t dtype, int64_t vocab, uint64_t *random) {
  batch_t batch = batch_make(LOGITS_EQUAL, dtype, 1, vocab, 0, random);
  for (int64_t k = 0; k < vocab; ++k) batch_set(&batch, 0, k, 1.25);
  return batch;
}

/* Half way between each two neighbours of a few binades, and the floats beside it. */
static void ties_go_to_even(void **state) {
  (void)state;
  static const int64_t vocabs[] = {2, 64, 2048};
  uint64_t random = 1;
  for (int i = 0; i < 2 * 3; ++i) {
    const int32_t dtype = kDtypes[1 + i % 2];
    batch_t batch = equal_logits(dtype, vocabs[i / 2], &random);
    const int fraction_bits = dtype == TOKAVG_DTYPE_BF16 ? 7 : 10;
    for (int m = 0; m < 1 << fraction_bits; m += i / 2 == 0 ? 1 : 17) {
      const double tie = 1 + ldexp(m + 0.5, -fraction_bits);
      const double sign = m % 3 == 0 ? -1 : 1;
      check_value(&batch, sign * tie);
      check_value(&batch, sign * tie * 0x1p-14);
      check_value(&batch, sign * (tie + 0x1p-23));
      check_value(&batch, sign * (tie - 0x1p-23) * 0x1p6);
    }
    batch_free(&batch);
  }
}

static void halves_overflow_and_underflow(void **state) {
  (void)state;
  static const double edges[] = {65504, 65519, 65519.99, 65520, 65535, 65536, 1e6, 1e30, 0x1p-14, 0x1.ffcp-15};
  uint64_t random = 2;
  batch_t batch = equal_logits(TOKAVG_DTYPE_F16, 128, &random);
  for (int sign = -1; sign <= 1; sign += 2) {
    for (int i = 0; i < (int)(sizeof edges / sizeof *edges); ++i) check_value(&batch, sign * edges[i]);
    for (int quarters = 0; quarters < 200; ++quarters) { /* of the smallest subnormal */
      check_value(&batch, sign * quarters * 0x1p-26);
      check_value(&batch, sign * quarters * 0x1.000002p-26);
      check_value(&batch, sign * (4096 - quarters) * 0x1p-26);
    }
  }
  batch_free(&batch);
  batch = equal_logits(TOKAVG_DTYPE_BF16, 128, &random);
  for (int sign = -1; sign <= 1; sign += 2) {
    check_value(&batch, sign * 0x1.fep127);
    check_value(&batch, sign * 0x1.fefffep127);
    check_value(&batch, sign * 0x1.ffp127 * 0.5);
  }
  batch_free(&batch);
}

/* Loss scales as mixed precision uses them, down to 65536 / N. */
static void scaled_losses(void **state) {
  (void)state;
  uint64_t random = 3;
  accuracy_t worst = {0};
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  int64_t infinite = 0, subnormal = 0;
  for (int i = 0; i < 3 * 12; ++i) {
    batch_t batch = batch_make(i % 3 == 0 ? LOGITS_WRONG : LOGITS_NORMAL_3, TOKAVG_DTYPE_F16, 4, 1500, i, &random);
    batch.rows.factor = 65536 * (i % 2 == 0 ? 8 : -8) / pow(4, i / 3);
    simd_results_t expected = accuracy_reference(&batch.rows);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      simd_results_t got = simd_run(&batch.rows);
      accuracy_check(&batch.rows, &got, &expected, &worst);
      for (int64_t k = 0; k < 4 * 1500; ++k) {
        const double g = simd_read(got.gradient, TOKAVG_DTYPE_F16, k);
        infinite += isinf(g) ? 1 : 0;
        subnormal += g != 0 && fabs(g) < 0x1p-14;
      }
      simd_free(&got);
    }
    simd_free(&expected);
    batch_free(&batch);
  }
  assert_true(infinite > 20 && subnormal > 1000);
}

/* p_y - 1 from a p_y that was rounded to bfloat16 would be wrong by several percent. */
static void nearly_certain(void **state) {
  (void)state;
  static const double ps[] = {0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 1 - 1e-9};
  static const double errors[] = {0x1p-23, 0x1p-8, 0x1p-11};
  static const int64_t vocabs[] = {2, 65, 1000, 32000};
  uint64_t random = 4;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int i = 0; i < 3 * 8 * 4; ++i) {
    const int64_t vocab = vocabs[i / 24];
    const double p = ps[i / 3 % 8], wide = i % 3 == 2 ? 1024 : 1;
    batch_t batch = batch_make(LOGITS_NORMAL_1, kDtypes[i % 3], 2, vocab, i, &random);
    batch.rows.factor = wide * wide; /* out of the subnormals of half */
    double others = 0;
    for (int64_t k = 1; k < vocab; ++k) others += exp(simd_read(batch.logits, kDtypes[i % 3], k));
    batch.labels[0] = 0;
    batch_set(&batch, 0, 0, log(others) + log(p / (1 - p)));
    simd_results_t expected = accuracy_reference(&batch.rows);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      simd_results_t got = simd_run(&batch.rows);
      const double g = simd_read(got.gradient, kDtypes[i % 3], 0), e = (double)((const float *)expected.gradient)[0];
      if (fabs(e) < 60000) assert_true(fabs(g - e) <= (errors[i % 3] + 0x1p-22) * fabs(e));
      if (i % 3 == 1) assert_true(fabs(g - e) <= 0.004 * fabs(e));
      simd_free(&got);
    }
    simd_free(&expected);
    batch_free(&batch);
  }
}

static void gradients_sum_up_to_nothing(void **state) {
  (void)state;
  static const double errors[] = {1e-6, 0x1p-8, 0x1p-11};
  uint64_t random = 5;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int i = 0; i < LOGITS_HUGE * 3 * 2; ++i) {
    const int64_t vocab = 5000;
    batch_t batch = batch_make(i / 6, kDtypes[i % 3], 2, vocab, i, &random);
    batch.rows.smoothing = i / 3 % 2 == 0 ? 0 : 0.1;
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      simd_results_t got = simd_run(&batch.rows);
      for (int64_t r = 0; r < 2; ++r) {
        double sum = 0, size = 0;
        for (int64_t k = 0; k < vocab; ++k) {
          const double g = simd_read(got.gradient, batch.rows.dtype, r * vocab + k);
          sum += g;
          size += fabs(g);
        }
        const double subnormals = i % 3 == 2 ? 0x1p-25 * (double)vocab : 0;
        assert_true(fabs(sum) <= errors[i % 3] * size + subnormals);
      }
      simd_free(&got);
    }
    batch_free(&batch);
  }
}

/* They are cut to what float32 holds; infinity would make NaN of a class without probability. */
static void factors_beyond_float(void **state) {
  (void)state;
  static const double factors[] = {1e38, -1e39, 1e300};
  uint64_t random = 7;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int i = 0; i < 3 * 3; ++i) {
    batch_t batch = batch_make(LOGITS_NORMAL_1, kDtypes[i % 3], 1, 130, 0, &random);
    for (int64_t k = 50; k < 130; ++k) batch_set(&batch, 0, k, -(double)INFINITY);
    batch.rows.factor = factors[i / 3];
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      simd_results_t got = simd_run(&batch.rows);
      for (int64_t k = 0; k < 130; ++k) {
        const double g = simd_read(got.gradient, batch.rows.dtype, k) * (batch.rows.factor > 0 ? 1 : -1);
        assert_true(k >= 50 ? g == 0 : k == batch.labels[0] ? g < -60000 : g > 60000);
      }
      simd_free(&got);
    }
    batch_free(&batch);
  }
}

/* Every cap that the interface lets through: one that float32 cannot hold is none, or leaves nothing. */
static void extreme_caps(void **state) {
  (void)state;
  static const double caps[] = {1e-300, 1e-40, 1e-30, 1e-6, 1e6, 1e30, 1e38, 1e39, 1e300};
  uint64_t random = 6;
  accuracy_t worst = {0};
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int i = 0; i < 3 * 9; ++i) {
    batch_t batch = batch_make(LOGITS_UNIFORM, kDtypes[i % 3], 2, 130, 0, &random);
    batch.rows.softcap = caps[i / 3];
    batch_set(&batch, 0, 7, 0);
    simd_results_t expected = accuracy_reference(&batch.rows);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      simd_results_t got = simd_run(&batch.rows);
      accuracy_check(&batch.rows, &got, &expected, &worst);
      simd_free(&got);
    }
    simd_free(&expected);
    batch_free(&batch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ties_go_to_even),
      cmocka_unit_test(halves_overflow_and_underflow),
      cmocka_unit_test(scaled_losses),
      cmocka_unit_test(nearly_certain),
      cmocka_unit_test(gradients_sum_up_to_nothing),
      cmocka_unit_test(factors_beyond_float),
      cmocka_unit_test(extreme_caps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
