/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling by the kernels: the bits of the host's reference, which computes in double and rounds once. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels/kernels.h"
#include "support/random.h"
#include "support/simd.h"

#ifdef TOKAVG_CUDA_EMULATOR
#include "cuda_emulator/control.h"
#endif

enum { kMostItems = 500, kMostArrays = 160 /* of a launch, as src/device/cuda/scale.cu has it */ };

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};

/* Any bits, and many whose products are ties, subnormal or infinite. */
static void fill(void *data, int32_t dtype, int64_t count, uint64_t *random) {
  unsigned char *bytes = data;
  const size_t size = simd_size_of(dtype);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = random_next(random);
    memcpy(bytes + (size_t)i * size, &bits, size);
    if (i % 3 == 0) simd_write(data, dtype, i, ldexp(random_unit(random) - 0.5, (int)random_below(random, 40) - 20));
  }
}

static void assert_same_values(const void *got, const void *expected, int32_t dtype, int64_t count) {
  const size_t size = simd_size_of(dtype);
  const unsigned char *a = got, *b = expected;
  for (int64_t i = 0; i < count; ++i) {
    const double x = simd_read(got, dtype, i), y = simd_read(expected, dtype, i);
    if (isnan(x) && isnan(y)) continue; /* which NaN is the processor's affair */
    if (memcmp(a + (size_t)i * size, b + (size_t)i * size, size) != 0) {
      fail_msg("dtype %d, element %lld: %a instead of %a", dtype, (long long)i, x, y);
    }
  }
}

typedef struct item {
  unsigned char *memory; /* with a few bytes before and behind */
  void *data, *expected;
  int64_t count;
  int32_t dtype;
} item_t;

static item_t item_make(int32_t dtype, int64_t count, int64_t offset, uint64_t *random) {
  const size_t size = simd_size_of(dtype);
  item_t item = {.count = count, .dtype = dtype};
  item.memory = aligned_alloc(64, ((size_t)(count + offset) * size + 64) / 64 * 64 + 64);
  item.expected = malloc((size_t)count * size + 1);
  assert_true(item.memory != NULL && item.expected != NULL);
  item.data = item.memory + (size_t)offset * size;
  fill(item.data, dtype, count, random);
  memcpy(item.expected, item.data, (size_t)count * size);
  return item;
}

static double product_of(const kernels_multiplier_t *m) {
  const double factor = m->has_factor ? m->factor : 1;
  return factor == 0 ? 0 : factor * m->scale * (m->has_scale_device ? (double)m->scale_device : 1);
}

static uint64_t launches(void) {
#ifdef TOKAVG_CUDA_EMULATOR
  return cuda_emulator_calls("scale_kernel");
#else
  return 0;
#endif
}

/* As few launches as the arrays that have elements fit into. */
static void check(item_t *items, int64_t n, const kernels_multiplier_t *multiplier) {
  static tokavg_scale_item_t arrays[kMostItems];
  uint64_t filled = 0;
  assert_int_equal(internal_use_kernels("reference", 1), TOKAVG_OK);
  for (int64_t i = 0; i < n; ++i) {
    arrays[i] = (tokavg_scale_item_t){items[i].data, items[i].count, items[i].dtype, TOKAVG_MEMORY_CUDA};
    filled += items[i].count > 0 ? 1 : 0;
    internal_scale(items[i].expected, items[i].dtype, items[i].count, product_of(multiplier));
  }
  const uint64_t before = launches();
  const kernels_cell_t got = kernels_scale(arrays, n, multiplier);
  if (got.status != TOKAVG_OK) fail_msg("%s", got.text);
  if (kernels_is_emulated()) assert_int_equal(launches() - before, (filled + kMostArrays - 1) / kMostArrays);
  for (int64_t i = 0; i < n; ++i) {
    assert_same_values(items[i].data, items[i].expected, items[i].dtype, items[i].count);
    free(items[i].memory);
    free(items[i].expected);
  }
}

static kernels_multiplier_t random_multiplier(uint64_t *random) {
  kernels_multiplier_t m = {.scale = random_below(random, 3) == 0 ? 65536 : 1};
  m.has_factor = random_below(random, 4) != 0;
  m.factor = ldexp(random_unit(random) + 0.5, (int)random_below(random, 60) - 30);
  m.has_scale_device = random_below(random, 3) == 0;
  m.scale_device = (float)(random_unit(random) * 4 - 2);
  return m;
}

static void one_array(void **state) {
  (void)state;
  static const int64_t counts[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 1000, 8191, 8192, 8193, 32768, 32769, 70001};
  uint64_t random = 1;
  for (int i = 0; i < 18 * 4 * 3; ++i) {
    item_t item = item_make(kDtypes[i / 18 % 4], counts[i % 18], random_below(&random, 9), &random);
    const kernels_multiplier_t multiplier = random_multiplier(&random);
    check(&item, 1, &multiplier);
  }
}

/* More than one launch takes, and of very different sizes; some of them empty, or (t odd) none. */
static void many_arrays(void **state) {
  (void)state;
  uint64_t random = 2;
  static const int64_t ns[] = {1, 2, 159, 160, 161, 320, 321, kMostItems};
  for (int t = 0; t < 8 * 2; ++t) {
    static item_t items[kMostItems];
    for (int64_t i = 0; i < ns[t / 2]; ++i) {
      const int64_t small = random_below(&random, 40) + t % 2;
      const int64_t count = i % 50 == 7 ? 40000 + random_below(&random, 60000) : small;
      items[i] = item_make(kDtypes[random_below(&random, 4)], count, random_below(&random, 9), &random);
    }
    const kernels_multiplier_t multiplier = random_multiplier(&random);
    check(items, ns[t / 2], &multiplier);
  }
}

/* Zeros also over NaN, and whatever the other parts are. */
static void factor_zero(void **state) {
  (void)state;
  uint64_t random = 3;
  for (int i = 0; i < 4 * 8; ++i) {
    item_t item = item_make(kDtypes[i % 4], 1 + random_below(&random, 20000), random_below(&random, 9), &random);
    memset(item.data, 0xff, (size_t)item.count * simd_size_of(item.dtype) / 2);
    memset(item.expected, 0, (size_t)item.count * simd_size_of(item.dtype));
    kernels_multiplier_t multiplier = {.scale = 1, .has_factor = 1, .factor = i % 2 == 0 ? 0.0 : -0.0};
    if (i / 4 % 3 == 1) multiplier.scale = (double)NAN;
    multiplier.has_scale_device = i / 4 % 3 == 2;
    multiplier.scale_device = INFINITY;
    check(&item, 1, &multiplier);
  }
}

static void nothing_to_scale(void **state) {
  (void)state;
  const kernels_multiplier_t multiplier = {.scale = 2};
  assert_int_equal(kernels_scale(NULL, 0, &multiplier).status, TOKAVG_OK);
  const tokavg_scale_item_t empty = {NULL, 0, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA};
  assert_int_equal(kernels_scale(&empty, 1, &multiplier).status, TOKAVG_OK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_array),
      cmocka_unit_test(many_arrays),
      cmocka_unit_test(factor_zero),
      cmocka_unit_test(nothing_to_scale),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
