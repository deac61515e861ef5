/* SPDX-License-Identifier: Apache-2.0 */
/* NaN and infinite logits anywhere in rows of any length: what is finite, infinite and NaN is so with the host's
   reference too. And numbers at the ends of what float holds. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels/row_check.h"
#include "cuda_kernels/rows.h"
#include "support/accuracy.h"
#include "support/batch.h"
#include "support/logits.h"
#include "support/random.h"

enum { kRows = 3, kBad = 1 }; /* the row that is spoilt */

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
static const int64_t kVocabs[] = {1, 2, 9, 64, 130, 1025, 2049, 2600, 33001};
enum { kVocabCount = sizeof kVocabs / sizeof *kVocabs };

/* Quiet and not, with odd payloads and both signs. */
static void set_nan(batch_t *batch, int64_t k, int64_t which) {
  static const uint32_t f32[] = {0x7f800001, 0xffffffff, 0x7fc00000, 0xff800001, 0xff8fffff};
  static const uint16_t bf16[] = {0x7f81, 0xffff, 0x7fc0, 0xff81, 0xffbf};
  static const uint16_t f16[] = {0x7c01, 0xffff, 0x7e00, 0xfc01, 0xfdff};
  const int64_t i = kBad * batch->rows.vocab + k;
  if (batch->rows.dtype == TOKAVG_DTYPE_F32) {
    memcpy((float *)batch->logits + i, &f32[which % 5], sizeof(uint32_t));
  } else {
    ((uint16_t *)batch->logits)[i] = batch->rows.dtype == TOKAVG_DTYPE_BF16 ? bf16[which % 5] : f16[which % 5];
  }
}

static void assert_like(const simd_rows_t *rows, const simd_results_t *got, const simd_results_t *expected) {
  assert_int_equal(got->outcome.tokens, expected->outcome.tokens);
  assert_int_equal(got->outcome.nonfinite, expected->outcome.nonfinite);
  for (int64_t r = 0; r < rows->rows; ++r) {
    const double loss = (double)got->losses[r], wanted = (double)expected->losses[r];
    assert_true(!!isnan(loss) == !!isnan(wanted) && !!isinf(loss) == !!isinf(wanted));
    if (isfinite(wanted)) assert_true(fabs(loss - wanted) <= 1e-5 * fabs(wanted) + 1e-6);
    if (isinf(wanted)) assert_true(loss == wanted);
    assert_true(!!isnan(got->lse[r]) == !!isnan(expected->lse[r]));
    if (isinf(expected->lse[r])) assert_true(got->lse[r] == expected->lse[r]);
    assert_int_equal(got->argmax[r], expected->argmax[r]);
    for (int64_t k = r * rows->vocab; k < (r + 1) * rows->vocab; ++k) {
      const double g = simd_read(got->gradient, rows->dtype, k), e = (double)((const float *)expected->gradient)[k];
      const double logit = simd_read(rows->logits, rows->dtype, k);
      assert_true(!!isnan(g) == !!isnan(e));
      if (logit == -(double)INFINITY && e == 0) assert_true(g == 0);
      if (!isnan(e)) assert_true(fabs(g - e) <= 0x1p-7 * fabs(e) + 0x1p-24);
    }
  }
}

static void check(const simd_rows_t *rows) {
  simd_results_t expected = accuracy_reference(rows);
  kernels_path_t paths[KERNELS_PATHS];
  const int n = rows_paths(rows, paths);
  for (int p = 0; p < n; ++p) {
    simd_rows_t call = *rows;
    call.logits_offset = p;
    call.in_place = p;
    simd_results_t got = rows_run(&call, paths[p]);
    assert_like(rows, &got, &expected);
    simd_free(&got);
  }
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
  const int64_t columns[] = {0, vocab - 1, label, 7, 63, 2047, 2048, vocab / 8 * 8, label ^ 1};
  const int64_t column = i < 9 ? columns[i] : random_below(random, vocab);
  return column < vocab ? column : random_below(random, vocab);
}

static void one_nan_spoils_its_row(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < kVocabCount * 3 * 10; ++i) {
    const int64_t vocab = kVocabs[i / 30];
    if (vocab > 10000 && i % 4 != 0) continue;
    batch_t batch = batch_make(i % LOGITS_HUGE, kDtypes[i / 10 % 3], kRows, vocab, i, &random);
    random_options(&batch, &random);
    set_nan(&batch, column_of(i % 10, vocab, batch.labels[kBad], &random), i);
    check(&batch.rows);
    batch_free(&batch);
  }
}

static void infinities(void **state) {
  (void)state;
  uint64_t random = 2;
  for (int i = 0; i < kVocabCount * 3 * 16; ++i) {
    const int64_t vocab = kVocabs[i / 48];
    if (vocab > 10000 && i % 6 != 0) continue;
    batch_t batch = batch_make(LOGITS_NORMAL_3, kDtypes[i / 16 % 3], kRows, vocab, i, &random);
    random_options(&batch, &random);
    const int64_t label = batch.labels[kBad], rarity = random_below(&random, 5);
    for (int64_t k = 0; k < vocab; ++k) { /* one, a few, most or all, with and without the label */
      const int out =
          i % 4 == 0 ? k == column_of(i % 16 / 2, vocab, label, &random) : random_below(&random, 5) >= rarity;
      if (i % 4 == 3 ? k != label : out) batch_set(&batch, kBad, k, -(double)INFINITY);
    }
    if (i % 4 == 1) batch_set(&batch, kBad, label, -(double)INFINITY);
    if (i % 5 == 1) batch_set(&batch, kBad, column_of(i % 16 / 2, vocab, label, &random), (double)INFINITY);
    check(&batch.rows);
    batch_free(&batch);
  }
}

/* Masked with the lowest float, or all as high as can be. */
static void largest_floats(void **state) {
  (void)state;
  uint64_t random = 3;
  for (int i = 0; i < kVocabCount * 2 * 4; ++i) {
    const int64_t vocab = kVocabs[i / 8];
    batch_t batch = batch_make(LOGITS_NORMAL_1, kDtypes[i % 2], kRows, vocab, i, &random);
    for (int64_t k = 0; k < vocab; ++k) {
      const int up = k == batch.labels[kBad] || k == vocab / 3;
      if (i / 2 % 4 == 2 && up) continue; /* ordinary logits among masks */
      batch_set(&batch, kBad, k, i / 2 % 4 == 3 && k % 3 == 0 ? -(double)INFINITY : up ? 0x1.fep127 : -0x1.fep127);
    }
    check(&batch.rows);
    batch_free(&batch);
  }
}

/* Most of a sum may come from equal terms far below its largest: no digit is lost by their distance. */
static void equal_terms_far_below_the_largest(void **state) {
  (void)state;
  enum { kVocab = 30011 };
  static float logits[kVocab];
  const int64_t label = 1000;
  uint64_t random = 4;
  row_errors_t worst = {0};
  for (int i = 0; i < 24; ++i) {
    const double distance = 8 + 8 * random_unit(&random);
    for (int k = 0; k < kVocab; ++k) logits[k] = (float)(1 - distance);
    logits[i % 2 == 0 ? 7 : 30000] = 1;
    logits[label] = (float)(i % 3) * 15;
    simd_rows_t rows = {.dtype = TOKAVG_DTYPE_F32, .rows = 1, .vocab = kVocab, .logits = logits, .labels = &label};
    rows.factor = 1;
    simd_results_t got = rows_run(&rows, KERNELS_CHOSEN);
    row_check(&rows, &got, &worst);
    simd_free(&got);
  }
  row_report("equal terms", &worst);
}

/* Every cap that the interface lets through: one that float32 cannot hold is none, or leaves nothing. */
static void extreme_caps(void **state) {
  (void)state;
  static const double caps[] = {1e-300, 1e-40, 1e-30, 1e-6, 1e6, 1e17, 1e30, 1e38, 1e39, 1e300};
  uint64_t random = 6;
  row_errors_t worst = {0};
  for (int i = 0; i < 3 * 10; ++i) {
    batch_t batch = batch_make(LOGITS_UNIFORM, kDtypes[i % 3], 2, 130, 0, &random);
    batch.rows.softcap = caps[i / 3];
    batch_set(&batch, 0, 7, 0);
    check(&batch.rows);
    if (caps[i / 3] < 1e10) { /* beyond, units in the last place of the cap are no measure */
      simd_results_t got = rows_run(&batch.rows, KERNELS_CHOSEN);
      row_check(&batch.rows, &got, &worst);
      simd_free(&got);
    }
    batch_free(&batch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_nan_spoils_its_row), cmocka_unit_test(infinities),
      cmocka_unit_test(largest_floats),         cmocka_unit_test(equal_terms_far_below_the_largest),
      cmocka_unit_test(extreme_caps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
