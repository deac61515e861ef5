/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy by the vector kernels where logits are infinite or not a number, and where nothing is scored. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/accuracy.h"
#include "support/batch.h"
#include "support/internal.h"
#include "support/logits.h"
#include "support/random.h"
#include "support/simd.h"

enum { kRows = 4, kBad = 2 }; /* the row that is spoilt */

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
static const int64_t kVocabs[] = {1, 2, 17, 64, 65, 130, 1024, 1025, 1100, 2049, 3000};
enum { kVocabCount = sizeof kVocabs / sizeof *kVocabs };

static void set_bits(batch_t *batch, int64_t k, uint32_t f32, uint16_t bf16, uint16_t f16) {
  const int64_t i = kBad * batch->rows.vocab + k;
  if (batch->rows.dtype == TOKAVG_DTYPE_F32) {
    memcpy((float *)batch->logits + i, &f32, sizeof f32);
  } else {
    ((uint16_t *)batch->logits)[i] = batch->rows.dtype == TOKAVG_DTYPE_BF16 ? bf16 : f16;
  }
}

/* Quiet and not, with odd payloads and both signs. */
static void set_nan(batch_t *batch, int64_t k, int64_t which) {
  static const uint32_t f32[] = {0x7f800001, 0xffffffff, 0x7fc00000, 0xff800001, 0xff8fffff};
  static const uint16_t bf16[] = {0x7f81, 0xffff, 0x7fc0, 0xff81, 0xffbf};
  static const uint16_t f16[] = {0x7c01, 0xffff, 0x7e00, 0xfc01, 0xfdff};
  set_bits(batch, k, f32[which % 5], bf16[which % 5], f16[which % 5]);
}

/* Both results: in classes (finite, infinite and of which sign, NaN), and all that is finite within the bounds. */
static void check(const simd_rows_t *rows, accuracy_t *worst) {
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  simd_results_t expected = accuracy_reference(rows), first = {.losses = NULL};
  for (int t = 0; t < 3 * n; ++t) {
    simd_use(targets[t / 3], 1);
    simd_rows_t call = *rows;
    call.in_place = t % 3 == 1;
    call.no_gradient = t % 3 == 2;
    simd_results_t got = simd_run(&call);
    accuracy_check(&call, &got, &expected, worst);
    for (int64_t r = 0; r < call.rows; ++r) {
      const float loss = got.losses[r], wanted = expected.losses[r];
      assert_true(isnan(loss) == isnan(wanted) && isinf(loss) == isinf(wanted));
      assert_true(isnan(got.lse[r]) == isnan(expected.lse[r]));
      if (isinf(loss)) assert_true(loss == wanted);
      if (isinf(expected.lse[r])) assert_true(got.lse[r] == expected.lse[r]);
      for (int64_t k = r * call.vocab; got.gradient != NULL && k < (r + 1) * call.vocab; ++k) {
        const double g = simd_read(got.gradient, call.dtype, k), e = (double)((const float *)expected.gradient)[k];
        assert_true(!!isnan(g) == !!isnan(e));
        const double logit = simd_read(call.logits, call.dtype, k);
        if (logit == -(double)INFINITY && e == 0) assert_true(g == 0);
        if (isinf(wanted) && !isnan(e)) assert_true(fabs(g - e) <= 0x1p-8 * fabs(e) + 0x1p-24);
      }
    }
    if (t == 0) {
      first = got;
    } else {
      simd_assert_same(&call, &got, &first);
      simd_free(&got);
    }
  }
  simd_free(&first);
  simd_free(&expected);
}

static void random_options(batch_t *batch, uint64_t *random) {
  const int64_t options = random_below(random, 2) == 0 ? 0 : random_below(random, 8);
  batch->rows.smoothing = (options & 1) != 0 ? 0.1 : 0;
  batch->rows.z_loss = (options & 2) != 0 ? 1e-4 : 0;
  batch->rows.softcap = (options & 4) != 0 ? 30 : 0;
}

/* Columns where something may go wrong, and any. */
static int64_t column_of(int64_t i, int64_t vocab, int64_t label, uint64_t *random) {
  const int64_t columns[] = {0, vocab - 1, label, 15, 63, 64, 1023, 1024, vocab / 64 * 64, label ^ 1};
  const int64_t column = i < 10 ? columns[i] : random_below(random, vocab);
  return column < vocab ? column : random_below(random, vocab);
}

static void one_nan_spoils_its_row(void **state) {
  (void)state;
  uint64_t random = 1;
  accuracy_t worst = {0};
  for (int i = 0; i < kVocabCount * 3 * 12; ++i) {
    const int64_t vocab = kVocabs[i / 36];
    const int kind = i % 4 == 0 ? LOGITS_HUGE : (int)random_below(&random, LOGITS_KINDS);
    batch_t batch =
        batch_make(kind == LOGITS_HUGE ? LOGITS_NORMAL_1 : kind, kDtypes[i / 12 % 3], kRows, vocab, i, &random);
    random_options(&batch, &random);
    set_nan(&batch, column_of(i % 12, vocab, batch.labels[kBad], &random), i);
    check(&batch.rows, &worst);
    batch.labels[kBad] = -100; /* and nothing where it is not scored */
    check(&batch.rows, &worst);
    batch_free(&batch);
  }
  print_message("%lld checks\n", (long long)worst.checks);
}

static void infinities(void **state) {
  (void)state;
  uint64_t random = 2;
  accuracy_t worst = {0};
  for (int i = 0; i < kVocabCount * 3 * 24; ++i) {
    const int64_t vocab = kVocabs[i / 72];
    batch_t batch = batch_make(LOGITS_NORMAL_3, kDtypes[i / 24 % 3], kRows, vocab, i, &random);
    random_options(&batch, &random);
    const int64_t label = batch.labels[kBad];
    const int64_t rarity = random_below(&random, 5);
    for (int64_t k = 0; k < vocab; ++k) { /* one, a few, most or all, with and without the label */
      const int out =
          i % 4 == 0 ? k == column_of(i % 24 / 2, vocab, label, &random) : random_below(&random, 5) >= rarity;
      if (i % 4 == 3 ? k != label : out) batch_set(&batch, kBad, k, -(double)INFINITY);
    }
    if (i % 4 == 1) batch_set(&batch, kBad, label, -(double)INFINITY);
    if (i % 5 == 1) batch_set(&batch, kBad, column_of(i % 24 / 2, vocab, label, &random), (double)INFINITY);
    check(&batch.rows, &worst);
    batch_free(&batch);
  }
  print_message("%lld checks\n", (long long)worst.checks);
}

/* Sums of logits that overflow look like NaN for a moment. */
static void largest_floats(void **state) {
  (void)state;
  uint64_t random = 3;
  accuracy_t worst = {0};
  for (int i = 0; i < kVocabCount * 2 * 4; ++i) {
    const int64_t vocab = kVocabs[i / 8];
    batch_t batch = batch_make(LOGITS_NORMAL_1, kDtypes[i % 2], kRows, vocab, i, &random);
    for (int64_t k = 0; k < vocab; ++k) {
      const int up = k == batch.labels[kBad] || k == vocab / 3;
      batch_set(&batch, kBad, k, i / 2 % 4 == 3 && k % 3 == 0 ? -(double)INFINITY : up ? 0x1.fep127 : -0x1.fep127);
    }
    check(&batch.rows, &worst);
    if (i / 2 % 4 == 1) {
      set_nan(&batch, column_of(i % 10, vocab, 0, &random), i);
      check(&batch.rows, &worst);
    }
    batch_free(&batch);
  }
}

/* A factor or weight of 0 writes zeros, also over NaN. */
static void nothing_is_left_of_a_row_without_weight(void **state) {
  (void)state;
  uint64_t random = 4;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int i = 0; i < 3 * 2 * 3 * 4; ++i) {
    batch_t batch = batch_make(LOGITS_NORMAL_1, kDtypes[i % 3], kRows, i / 18 == 0 ? 1025 : i / 18 * 64, i, &random);
    if (i / 3 % 3 != 0) set_nan(&batch, random_below(&random, batch.rows.vocab), i);
    if (i / 9 % 2 == 0) batch.rows.factor = 0;
    batch.rows.weights = batch.weights;
    batch.weights[kBad] = i % 2 == 0 ? 0 : -0.0;
    for (int t = 0; t < 2 * n; ++t) {
      simd_use(targets[t / 2], 1);
      batch.rows.in_place = t % 2;
      simd_results_t got = simd_run(&batch.rows);
      assert_int_equal(got.outcome.nonfinite, 0);
      assert_true(!!isnan(got.losses[kBad]) == (i / 3 % 3 != 0));
      const size_t row = (size_t)batch.rows.vocab * simd_size_of(batch.rows.dtype);
      for (size_t b = 0; b < kRows * row; ++b) {
        if (batch.rows.factor == 0 || b / row == kBad) assert_int_equal(((unsigned char *)got.gradient)[b], 0);
      }
      simd_free(&got);
    }
    batch_free(&batch);
  }
}

static void the_first_of_the_largest(void **state) {
  (void)state;
  uint64_t random = 5;
  accuracy_t worst = {0};
  for (int i = 0; i < 600; ++i) {
    const int64_t vocab = 1 + random_below(&random, 1200);
    batch_t batch = batch_make(LOGITS_NORMAL_1, kDtypes[i % 3], kRows, vocab, i, &random);
    for (int64_t k = 0; k < vocab; ++k) batch_set(&batch, kBad, k, (double)random_below(&random, 4) - 3);
    for (int64_t k = 0; i % 5 == 0 && k < vocab; ++k) batch_set(&batch, 0, k, random_below(&random, 2) ? 0.0 : -0.0);
    if (i % 5 == 1) set_nan(&batch, random_below(&random, vocab), i);
    if (i % 5 == 2) set_nan(&batch, 0, i);
    for (int64_t k = 0; i % 5 == 3 && k < vocab; ++k) set_nan(&batch, k, i);
    for (int64_t k = 0; i % 5 == 4 && k < vocab; ++k) {
      if (k < vocab / 2) set_nan(&batch, k, k);
      if (k >= vocab / 2) batch_set(&batch, kBad, k, -(double)INFINITY);
    }
    check(&batch.rows, &worst);
    batch_free(&batch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_nan_spoils_its_row),   cmocka_unit_test(infinities),
      cmocka_unit_test(largest_floats),           cmocka_unit_test(nothing_is_left_of_a_row_without_weight),
      cmocka_unit_test(the_first_of_the_largest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
