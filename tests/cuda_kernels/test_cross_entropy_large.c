/* SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies that take clusters of 4 to 16 blocks, and more than a cluster holds; and which path is chosen. */
#include "support/unit.h"

#include <stdlib.h>

#include "cuda_kernels/row_check.h"
#include "cuda_kernels/rows.h"
#include "support/batch.h"
#include "support/logits.h"
#include "support/random.h"

#ifdef TOKAVG_CUDA_EMULATOR
#include "cuda_emulator/control.h"
#endif

static void check(int kind, int32_t dtype, int64_t vocab, int64_t turn, uint64_t *random, row_errors_t *worst) {
  batch_t batch = batch_make(kind, dtype, 2, vocab, turn, random);
  batch.rows.logits_offset = turn % 8;
  batch.rows.in_place = turn % 2 == 0;
  kernels_path_t paths[KERNELS_PATHS];
  const int n = rows_paths(&batch.rows, paths);
  simd_results_t first = rows_run(&batch.rows, paths[0]);
  row_check(&batch.rows, &first, worst);
  for (int p = 1; p < n; ++p) {
    simd_results_t got = rows_run(&batch.rows, paths[p]);
    simd_assert_same(&batch.rows, &got, &first);
    simd_free(&got);
  }
  simd_free(&first);
  batch_free(&batch);
}

static void large_vocabularies(void **state) {
  (void)state;
  static const struct {
    int32_t dtype;
    int64_t vocab;
  } cases[] = {{TOKAVG_DTYPE_BF16, 128256}, {TOKAVG_DTYPE_F32, 128256},  {TOKAVG_DTYPE_F16, 152064},
               {TOKAVG_DTYPE_F32, 151936},  {TOKAVG_DTYPE_BF16, 262147}, {TOKAVG_DTYPE_BF16, 600011},
               {TOKAVG_DTYPE_F32, 300001},  {TOKAVG_DTYPE_F32, 1000003}};
  uint64_t random = 1;
  row_errors_t worst = {0};
  for (int i = 0; i < 8; ++i) {
    check(LOGITS_NORMAL_3, cases[i].dtype, cases[i].vocab, i, &random, &worst);
    if (i < 4)
      check(i % 2 == 0 ? LOGITS_CONFIDENT : LOGITS_HUGE, cases[i].dtype, cases[i].vocab, i + 1, &random, &worst);
  }
  row_report("large", &worst);
}

static void the_path_is_chosen(void **state) {
  (void)state;
  const int clusters = kernels_can(KERNELS_CLUSTERS, 1000, TOKAVG_DTYPE_F32);
  const char *wanted = getenv("TOKAVG_TEST_CLUSTERS"); /* set where the device is known */
  if (wanted != NULL) assert_int_equal(clusters, atoi(wanted));
  assert_true(!kernels_can(KERNELS_CLUSTERS, 1000003, TOKAVG_DTYPE_F32)); /* 16 blocks have 3.6 MB */
  assert_int_equal(kernels_can(KERNELS_CLUSTERS, 600011, TOKAVG_DTYPE_BF16), clusters);
#ifdef TOKAVG_CUDA_EMULATOR
  uint64_t random = 2;
  for (int i = 0; i < 2; ++i) {
    const int64_t vocab = i == 0 ? 1000 : 1000003;
    batch_t batch = batch_make(LOGITS_NORMAL_1, TOKAVG_DTYPE_F32, 1, vocab, 0, &random);
    cuda_emulator_reset();
    simd_results_t got = rows_run(&batch.rows, KERNELS_CHOSEN);
    const uint64_t by_clusters = clusters && i == 0 ? 1 : 0;
    assert_int_equal(cuda_emulator_calls("cross_entropy_cluster_kernel"), by_clusters);
    assert_int_equal(cuda_emulator_calls("cross_entropy_block_kernel"), 1 - by_clusters);
    simd_free(&got);
    batch_free(&batch);
  }
#endif
}

/* Of 16 blocks, more than every GPU has room for. */
static void the_driver_is_asked_once(void **state) {
  (void)state;
#ifdef TOKAVG_CUDA_EMULATOR
  if (!kernels_can(KERNELS_CLUSTERS, 1000, TOKAVG_DTYPE_F32)) skip();
  uint64_t random = 3;
  /* The larger one again, after the smaller: what it may use is not what the smaller one needed. */
  const int64_t vocabs[] = {200003, 140003, 200003};
  for (int i = 0; i < 3; ++i) {
    batch_t batch = batch_make(LOGITS_NORMAL_1, TOKAVG_DTYPE_F32, 1, vocabs[i], 0, &random);
    cuda_emulator_reset();
    simd_results_t got = rows_run(&batch.rows, KERNELS_CHOSEN);
    assert_int_equal(cuda_emulator_calls("cross_entropy_cluster_kernel"), 1);
    assert_int_equal(cuda_emulator_calls("cudaOccupancyMaxActiveClusters"), i < 2 ? 1 : 0);
    simd_free(&got);
    batch_free(&batch);
  }
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_vocabularies),
      cmocka_unit_test(the_path_is_chosen),
      cmocka_unit_test(the_driver_is_asked_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
