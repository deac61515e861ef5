/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy by the vector kernels beside the reference: losses, log sums and gradients of every kind of row. */
#include "support/unit.h"

#include <math.h>

#include "support/accuracy.h"
#include "support/batch.h"
#include "support/internal.h"
#include "support/logits.h"
#include "support/random.h"
#include "support/simd.h"

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
static const int64_t kVocabs[] = {1,   2,    3,    15,   16,   17,   63,   64,   65,   127,   128,
                                  129, 1000, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 32000, 50257};
enum { kVocabCount = sizeof kVocabs / sizeof *kVocabs };

static void check(const simd_rows_t *rows, accuracy_t *worst) {
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  simd_results_t expected = accuracy_reference(rows);
  for (int t = 0; t < n; ++t) {
    simd_use(targets[t], 1);
    simd_results_t got = simd_run(rows);
    accuracy_check(rows, &got, &expected, worst);
    simd_free(&got);
  }
  simd_free(&expected);
}

static void report(const char *what, const accuracy_t *worst) {
  print_message("%s: loss %.2e, lse %.2e, gradient %.2e, label's %.2e, %.2f of the bound; %lld checks\n", what,
                worst->loss, worst->lse, worst->gradient, worst->label_gradient, worst->used, (long long)worst->checks);
}

static int64_t rows_for(int64_t vocab) { return vocab > 10000 ? 2 : vocab > 1500 ? 4 : 9; }

static void every_kind_of_row(void **state) {
  (void)state;
  uint64_t random = 1;
  accuracy_t worst = {0};
  for (int kind = 0; kind < LOGITS_KINDS; ++kind) {
    for (int i = 0; i < 3 * kVocabCount; ++i) {
      const int64_t vocab = kVocabs[i / 3];
      batch_t batch = batch_make(kind, kDtypes[i % 3], rows_for(vocab), vocab, vocab > 10000 ? i + kind : 0, &random);
      batch.rows.spare = random_below(&random, 3);
      check(&batch.rows, &worst);
      batch_free(&batch);
    }
  }
  report("plain", &worst);
}

/* Smoothing, z-loss and cap, alone and together, with weights of both signs. */
static void every_kind_of_loss(void **state) {
  (void)state;
  uint64_t random = 2;
  accuracy_t worst = {0};
  for (int i = 0; i < 7 * LOGITS_KINDS * 3 * 2; ++i) {
    const int options = 1 + i % 7, kind = i / 7 % LOGITS_KINDS;
    const int32_t dtype = kDtypes[i / 7 / LOGITS_KINDS % 3];
    if (kind == LOGITS_HUGE && (options & 2) != 0 && (options & 4) == 0) continue; /* lse^2 overflows float32 */
    const int64_t vocab = kVocabs[random_below(&random, kVocabCount - 2)];
    batch_t batch = batch_make(kind, dtype, rows_for(vocab), vocab, i, &random);
    batch.rows.weights = batch.weights;
    batch.rows.smoothing = (options & 1) == 0 ? 0 : random_below(&random, 4) == 0 ? 1 : 0.1;
    batch.rows.z_loss = (options & 2) != 0 ? 1e-3 : 0;
    batch.rows.softcap = (options & 4) == 0 ? 0 : random_below(&random, 2) == 0 ? 30 : 5;
    batch.rows.factor = 1.0 / (double)(1 + random_below(&random, 1000));
    check(&batch.rows, &worst);
    batch_free(&batch);
  }
  report("options", &worst);
}

/* Where most of a sum comes from equal terms far below its largest, their roundings do not cancel: the loss is off by
   as much as one term is, 7.4e-8 for each unit of distance. With the label nearly certain all of it is relative. */
static void equal_terms_far_below_the_largest(void **state) {
  (void)state;
  enum { kVocab = 50257 };
  static float logits[kVocab];
  const int64_t label = 1000;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  uint64_t random = 3;
  for (int i = 0; i < 30; ++i) {
    const double distance = 8 + 8 * random_unit(&random);
    for (int k = 0; k < kVocab; ++k) logits[k] = (float)(1 - distance);
    logits[i % 2 == 0 ? 7 : 30000] = 1;
    logits[label] = (float)(i % 3) * 15;
    simd_rows_t rows = {.dtype = TOKAVG_DTYPE_F32, .rows = 1, .vocab = kVocab, .logits = logits, .labels = &label};
    rows.no_gradient = 1;
    simd_use("reference", 1);
    simd_results_t expected = simd_run(&rows);
    for (int t = 0; t < n; ++t) {
      simd_use(targets[t], 1);
      simd_results_t got = simd_run(&rows);
      const double error = fabs((double)got.losses[0] - (double)expected.losses[0]);
      assert_true(error <= (2e-7 + 7.4e-8 * distance) * (double)expected.losses[0]);
      simd_free(&got);
    }
    simd_free(&expected);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_kind_of_row),
      cmocka_unit_test(every_kind_of_loss),
      cmocka_unit_test(equal_terms_far_below_the_largest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
