/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy by the vector kernels has the same bits on every target, with any number of threads, in one call or
   many, and wherever the rows lie. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "support/batch.h"
#include "support/internal.h"
#include "support/logits.h"
#include "support/random.h"
#include "support/simd.h"

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};

/* What is compared with all the others: the first target, one thread, in one call. */
static simd_results_t first_of(const char *targets[SIMD_MOST_TARGETS], int *n_out, const simd_rows_t *rows) {
  *n_out = simd_targets(targets);
  simd_use(targets[0], 1);
  return simd_run(rows);
}

static void assert_same_run(const simd_rows_t *rows, const simd_results_t *expected) {
  simd_results_t got = simd_run(rows);
  simd_assert_same(rows, &got, expected);
  simd_free(&got);
}

static void random_options(batch_t *batch, int64_t options, uint64_t *random) {
  if (random_below(random, 2) == 0) batch->rows.weights = batch->weights;
  batch->rows.smoothing = (options & 1) != 0 ? 0.1 : 0;
  batch->rows.z_loss = (options & 2) != 0 ? 1e-4 : 0;
  batch->rows.softcap = (options & 4) != 0 ? 30 : 0;
  batch->rows.factor = random_unit(random);
}

static void targets_agree(void **state) {
  (void)state;
  static const int64_t vocabs[] = {1, 2, 15, 16, 17, 63, 64, 65, 129, 1000, 1023, 1024, 1025, 2049, 4096};
  uint64_t random = 1;
  const char *targets[SIMD_MOST_TARGETS];
  for (int i = 0; i < LOGITS_KINDS * 15 * 3; ++i) {
    batch_t batch =
        batch_make(i % LOGITS_KINDS, kDtypes[i / LOGITS_KINDS % 3], 5, vocabs[i / LOGITS_KINDS / 3], i % 9, &random);
    random_options(&batch, i % 3 == 0 ? random_below(&random, 8) : 0, &random);
    int n = 0;
    simd_results_t expected = first_of(targets, &n, &batch.rows);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      batch.rows.in_place = 0;
      assert_same_run(&batch.rows, &expected);
      batch.rows.in_place = 1;
      assert_same_run(&batch.rows, &expected);
      batch.rows.in_place = 0;
      batch.rows.no_gradient = 1;
      assert_same_run(&batch.rows, &expected);
      batch.rows.no_gradient = 0;
    }
    simd_free(&expected);
    batch_free(&batch);
  }
}

/* 37 rows at once, which no number of threads divides, and one by one. */
static void threads_and_partitions_agree(void **state) {
  (void)state;
  enum { kRows = 37 };
  static const int32_t threads[] = {1, 2, 3, 5};
  uint64_t random = 2;
  const char *targets[SIMD_MOST_TARGETS];
  for (int i = 0; i < 2 * 3 * 8; ++i) {
    const int64_t vocab = i % 2 == 0 ? 9001 : 333;
    batch_t batch = batch_make(i / 2 % LOGITS_KINDS, kDtypes[i / 2 % 3], kRows, vocab, i, &random);
    random_options(&batch, i / 6, &random);
    batch.labels[3] = -100;
    int n = 0;
    simd_results_t expected = first_of(targets, &n, &batch.rows);
    for (int t = 0; t < n; ++t) {
      for (int k = 0; k < 4; ++k) {
        simd_use(targets[t], threads[k]);
        batch.rows.in_place = k % 2;
        assert_same_run(&batch.rows, &expected);
      }
    }
    const size_t row = (size_t)vocab * simd_size_of(batch.rows.dtype);
    for (int64_t r = 0; r < kRows; ++r) {
      simd_use(targets[r % n], 1);
      simd_rows_t one = batch.rows;
      one.rows = 1;
      one.in_place = (int)(r % 2);
      one.logits = (const char *)batch.logits + (size_t)r * row;
      one.labels = batch.labels + r;
      if (one.weights != NULL) one.weights += r;
      simd_results_t got = simd_run(&one);
      assert_memory_equal(got.losses, expected.losses + r, sizeof(float));
      assert_memory_equal(got.lse, expected.lse + r, sizeof(float));
      assert_int_equal(got.argmax[0], expected.argmax[r]);
      assert_memory_equal(got.gradient, (const char *)expected.gradient + (size_t)r * row, row);
      simd_free(&got);
    }
    simd_free(&expected);
    batch_free(&batch);
  }
}

static void places_agree(void **state) {
  (void)state;
  static const int64_t vocabs[] = {17, 64, 1025};
  uint64_t random = 3;
  const char *targets[SIMD_MOST_TARGETS];
  for (int i = 0; i < 3 * 3 * 2; ++i) {
    batch_t batch = batch_make(LOGITS_NORMAL_3, kDtypes[i % 3], 3, vocabs[i / 3 % 3], i, &random);
    random_options(&batch, i < 9 ? 0 : 7, &random);
    int n = 0;
    simd_results_t expected = first_of(targets, &n, &batch.rows);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      for (int64_t offset = 0; offset < 16; ++offset) {
        for (int64_t spare = 0; spare < 8; ++spare) {
          batch.rows.logits_offset = offset;
          batch.rows.gradient_offset = (offset * 5 + spare) % 16;
          batch.rows.spare = spare * spare;
          batch.rows.in_place = spare % 3 == 1;
          assert_same_run(&batch.rows, &expected);
        }
      }
    }
    simd_free(&expected);
    batch_free(&batch);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(targets_agree),
      cmocka_unit_test(threads_and_partitions_agree),
      cmocka_unit_test(places_agree),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
