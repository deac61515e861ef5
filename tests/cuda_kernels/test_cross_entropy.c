/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy by the kernels beside double arithmetic: losses, log sums and gradients of every kind of row. */
#include "support/unit.h"

#include <math.h>

#include "cuda_kernels/row_check.h"
#include "cuda_kernels/rows.h"
#include "support/batch.h"
#include "support/internal.h"
#include "support/logits.h"
#include "support/random.h"

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
static const int64_t kVocabs[] = {1,   2,    3,    15,   16,   17,   63,   64,    65,    127,   128,
                                  129, 1000, 1023, 1024, 1025, 2049, 4096, 16385, 32000, 50257, 32769};
enum { kVocabCount = sizeof kVocabs / sizeof *kVocabs };

static void check(const simd_rows_t *rows, row_errors_t *worst) {
  kernels_path_t paths[KERNELS_PATHS];
  const int n = rows_paths(rows, paths);
  for (int p = 0; p < n; ++p) {
    simd_results_t got = rows_run(rows, paths[p]);
    row_check(rows, &got, worst);
    simd_free(&got);
  }
}

static int64_t rows_for(int64_t vocab) { return vocab > 10000 ? 2 : vocab > 1500 ? 4 : 9; }

static void every_kind_of_row(void **state) {
  (void)state;
  uint64_t random = 1;
  row_errors_t worst = {0};
  for (int kind = 0; kind < LOGITS_KINDS; ++kind) {
    for (int i = 0; i < 3 * kVocabCount; ++i) {
      const int64_t vocab = kVocabs[i / 3];
      if (vocab > 10000 && (i + kind) % 5 != 0) continue; /* they take long */
      batch_t batch = batch_make(kind, kDtypes[i % 3], rows_for(vocab), vocab, vocab > 10000 ? i + kind : 0, &random);
      batch.rows.spare = random_below(&random, 3);
      check(&batch.rows, &worst);
      batch_free(&batch);
    }
  }
  row_report("plain", &worst);
}

/* Smoothing, z-loss and cap, alone and together, with weights of both signs. */
static void every_kind_of_loss(void **state) {
  (void)state;
  uint64_t random = 2;
  row_errors_t worst = {0};
  for (int i = 0; i < 7 * LOGITS_KINDS * 3 * 2; ++i) {
    const int options = 1 + i % 7, kind = i / 7 % LOGITS_KINDS;
    const int32_t dtype = kDtypes[i / 7 / LOGITS_KINDS % 3];
    if (kind == LOGITS_HUGE && (options & 2) != 0 && (options & 4) == 0) continue; /* lse^2 overflows float32 */
    const int64_t vocab = kVocabs[random_below(&random, kVocabCount - 4)];
    batch_t batch = batch_make(kind, dtype, rows_for(vocab), vocab, i, &random);
    batch.rows.weights = batch.weights;
    batch.rows.smoothing = (options & 1) == 0 ? 0 : random_below(&random, 4) == 0 ? 1 : 0.1;
    batch.rows.z_loss = (options & 2) != 0 ? 1e-3 : 0;
    batch.rows.softcap = (options & 4) == 0 ? 0 : random_below(&random, 2) == 0 ? 30 : 5;
    batch.rows.factor = 1.0 / (double)(1 + random_below(&random, 1000));
    check(&batch.rows, &worst);
    batch_free(&batch);
  }
  row_report("options", &worst);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_row),
      cmocka_unit_test(every_kind_of_loss),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
