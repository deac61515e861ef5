/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and gradients of the kernels have the same bits on either path, wherever and in whatever order and company
   the rows come, and whatever else is asked for. */
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_kernels/rows.h"
#include "support/batch.h"
#include "support/logits.h"
#include "support/random.h"

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
static const int64_t kVocabs[] = {1, 5, 64, 257, 2048, 2049, 6001, 16391, 33001, 50257, 70003};
enum { kVocabCount = sizeof kVocabs / sizeof *kVocabs, kFew = 6001 };

static batch_t make(int i, uint64_t *random) {
  const int64_t vocab = kVocabs[i % kVocabCount];
  batch_t batch = batch_make(i % LOGITS_KINDS, kDtypes[i / kVocabCount % 3], vocab > kFew ? 2 : 5, vocab, i, random);
  batch.rows.weights = i % 4 == 0 ? batch.weights : NULL;
  batch.rows.smoothing = i % 5 == 1 ? 0.1 : 0;
  batch.rows.z_loss = i % 7 == 2 && i % LOGITS_KINDS != LOGITS_HUGE ? 1e-4 : 0;
  batch.rows.softcap = i % 6 == 3 ? 20 : 0;
  batch.rows.factor = 0.75;
  return batch;
}

static void assert_run_is(const simd_rows_t *rows, kernels_path_t path, const simd_results_t *expected) {
  simd_results_t got = rows_run(rows, path);
  simd_assert_same(rows, &got, expected);
  simd_free(&got);
}

static void either_path(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < 3 * kVocabCount; ++i) {
    batch_t batch = make(i, &random);
    kernels_path_t paths[KERNELS_PATHS];
    const int n = rows_paths(&batch.rows, paths);
    simd_results_t expected = rows_run(&batch.rows, KERNELS_CHOSEN);
    for (int p = 0; p < n; ++p) assert_run_is(&batch.rows, paths[p], &expected);
    simd_free(&expected);
    batch_free(&batch);
  }
}

/* Every distance from a multiple of 16 bytes, of the first row and so of the others; the gradient elsewhere, at another
   distance, in place, or none. */
static void any_address(void **state) {
  (void)state;
  uint64_t random = 2;
  for (int i = 0; i < 3 * kVocabCount; ++i) {
    batch_t batch = make(i, &random);
    kernels_path_t paths[KERNELS_PATHS];
    const int n = rows_paths(&batch.rows, paths);
    simd_results_t expected = rows_run(&batch.rows, paths[0]);
    for (int t = 0; t < (batch.rows.vocab > kFew ? 4 : 9); ++t) {
      simd_rows_t moved = batch.rows;
      moved.logits_offset = random_below(&random, 17);
      moved.gradient_offset = t % 3 == 0 ? moved.logits_offset : random_below(&random, 17);
      moved.spare = random_below(&random, 9);
      moved.in_place = t % 3 == 1;
      moved.no_gradient = t % 8 == 2;
      assert_run_is(&moved, paths[t % n], &expected);
    }
    simd_free(&expected);
    batch_free(&batch);
  }
}

/* Row r of `results` is row `was` of `all`. */
static void assert_same_row(const simd_rows_t *rows, const simd_results_t *results, int64_t r,
                            const simd_results_t *all, int64_t was) {
  const size_t row = (size_t)rows->vocab * simd_size_of(rows->dtype);
  assert_memory_equal(&results->losses[r], &all->losses[was], sizeof(float));
  assert_memory_equal(&results->lse[r], &all->lse[was], sizeof(float));
  assert_int_equal(results->argmax[r], all->argmax[was]);
  assert_memory_equal((const char *)results->gradient + (size_t)r * row,
                      (const char *)all->gradient + (size_t)was * row, row);
}

/* Alone, in another order, and twice in a call. */
static void any_company(void **state) {
  (void)state;
  enum { kMost = 10 };
  uint64_t random = 3;
  for (int i = 0; i < 3 * kVocabCount; ++i) {
    batch_t batch = make(i, &random);
    const int64_t vocab = batch.rows.vocab;
    const size_t row = (size_t)vocab * simd_size_of(batch.rows.dtype);
    kernels_path_t paths[KERNELS_PATHS];
    const int n = rows_paths(&batch.rows, paths);
    simd_results_t all = rows_run(&batch.rows, paths[0]);
    for (int t = 0; t < 3; ++t) {
      simd_rows_t some = batch.rows;
      int64_t labels[kMost], from[kMost];
      double weights[kMost];
      some.rows = t == 0 ? 1 : 1 + random_below(&random, vocab > kFew ? 3 : kMost);
      unsigned char *logits = malloc((size_t)some.rows * row);
      assert_non_null(logits);
      for (int64_t r = 0; r < some.rows; ++r) {
        from[r] = random_below(&random, batch.rows.rows);
        labels[r] = batch.labels[from[r]];
        weights[r] = batch.weights[from[r]];
        memcpy(logits + (size_t)r * row, (const char *)batch.logits + (size_t)from[r] * row, row);
      }
      some.logits = logits;
      some.labels = labels;
      some.weights = batch.rows.weights != NULL ? weights : NULL;
      some.spare = t;
      simd_results_t got = rows_run(&some, paths[t % n]);
      for (int64_t r = 0; r < some.rows; ++r) assert_same_row(&some, &got, r, &all, from[r]);
      simd_free(&got);
      free(logits);
    }
    simd_free(&all);
    batch_free(&batch);
  }
}

static void more_rows_than_blocks(void **state) {
  (void)state;
  enum { kVocab = 19 };
  uint64_t random = 4;
  const int64_t rows = kernels_is_emulated() ? 1300 : 40000; /* 96 blocks a processor */
  batch_t few = batch_make(LOGITS_NORMAL_3, TOKAVG_DTYPE_BF16, 7, kVocab, 0, &random);
  uint16_t *logits = malloc((size_t)rows * kVocab * sizeof *logits);
  int64_t *labels = malloc((size_t)rows * sizeof *labels);
  assert_true(logits != NULL && labels != NULL);
  for (int64_t r = 0; r < rows; ++r) {
    memcpy(logits + r * kVocab, (const uint16_t *)few.logits + r % 7 * kVocab, kVocab * sizeof *logits);
    labels[r] = r % 11 == 3 ? -100 : few.labels[r % 7];
  }
  simd_rows_t many = few.rows;
  many.rows = rows;
  many.logits = logits;
  many.labels = labels;
  kernels_path_t paths[KERNELS_PATHS];
  const int n = rows_paths(&many, paths);
  simd_results_t expected = rows_run(&few.rows, paths[0]);
  for (int p = 0; p < n; ++p) {
    simd_results_t got = rows_run(&many, paths[p]);
    internal_int128_t units = 0;
    for (int64_t r = 0; r < rows; ++r) {
      if (labels[r] < 0) {
        assert_true(got.losses[r] == 0 && got.lse[r] == 0 && got.argmax[r] == -1);
        continue;
      }
      assert_same_row(&many, &got, r, &expected, r % 7);
      const double loss = (double)got.losses[r];
      units += internal_sum_doubles(&loss, 1).units;
    }
    assert_true(got.outcome.sum.units == units && got.outcome.tokens == rows - (rows + 7) / 11);
    simd_free(&got);
  }
  simd_free(&expected);
  batch_free(&few);
  free(logits);
  free(labels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(either_path),
      cmocka_unit_test(any_address),
      cmocka_unit_test(any_company),
      cmocka_unit_test(more_rows_than_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
