/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling by the vector kernels: the same bits as the reference's, those of NaN included. */
#include "support/unit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"
#include "support/simd.h"

enum { kHalves = 1 << 16, kShapes = 4000, kCanary = 64 };

static const int32_t kDtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
static const double kFactors[] = {0,       -0.0,        1,           -1,           1.0 / 3,      1e-30,  1e30,
                                  1e300,   -1e-300,     0x1p-126,    0x1.8p-130,   0x1p-24,      65536,  0.5,
                                  0x1p120, 1 + 0x1p-11, 1 + 0x1p-12, 1 + 0x1p-8,   1 - 0x1p-53,  4.7e-5, 0x1p-40,
                                  1e-40,   1 + 0x1p-40, 1 + 0x1p-24, 1 + 0x1.8p-9, 0x1.fffffep0, 3e-5,   0x1.ffp-1,
                                  1e-320,  0x1.004p-8,  0x1.002p0,   1e38,         1e4,          -6e-8};
enum { kFactorCount = sizeof kFactors / sizeof *kFactors };

/* Scales `count` elements that begin `offset` elements after 64 bytes of canaries, with the kernels by name and with
   the reference. */
static void check(const void *values, int32_t dtype, int64_t count, int64_t offset, double factor, const char *name,
                  int32_t threads) {
  const size_t element = simd_size_of(dtype), size = (size_t)count * element;
  const size_t first = kCanary + (size_t)offset * element, whole = first + size + kCanary;
  unsigned char *got = malloc(whole), *expected = malloc(whole);
  memset(got, 0xa5, whole);
  memcpy(got + first, values, size);
  memcpy(expected, got, whole);
  simd_use("reference", 1);
  assert_int_equal(internal_scale(expected + first, dtype, count, factor), TOKAVG_OK);
  simd_use(name, threads);
  assert_int_equal(internal_scale(got + first, dtype, count, factor), TOKAVG_OK);
  for (size_t i = 0; i < whole; ++i) {
    if (got[i] == expected[i]) continue;
    const ptrdiff_t at = ((ptrdiff_t)i - (ptrdiff_t)first) / (ptrdiff_t)element;
    uint64_t bits = 0;
    if (i >= first && i < first + size) memcpy(&bits, (const char *)values + (size_t)at * element, element);
    fail_msg("%s, dtype %d, factor %a: element %td of %td, bits %" PRIx64, name, dtype, factor, at, (ptrdiff_t)count,
             bits);
  }
  free(got);
  free(expected);
}

static void every_half(void **state) {
  (void)state;
  static uint16_t halves[kHalves];
  for (int i = 0; i < kHalves; ++i) halves[i] = (uint16_t)i;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  for (int t = 0; t < n; ++t) {
    for (int f = 0; f < kFactorCount; ++f) {
      check(halves, TOKAVG_DTYPE_BF16, kHalves, f % 5, kFactors[f], targets[t], 1);
      check(halves, TOKAVG_DTYPE_F16, kHalves, f % 5, kFactors[f], targets[t], 1);
    }
  }
}

/* Products that lie on a tie of a 16-bit type, or a last bit of double beside one, where a detour over float errs. */
static void halves_beside_ties(void **state) {
  (void)state;
  static uint16_t halves[kHalves];
  for (int i = 0; i < kHalves; ++i) halves[i] = (uint16_t)i;
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  uint64_t random = 3;
  for (int i = 0; i < 40; ++i) {
    double factor = ldexp(1 + (double)(2 * random_below(&random, 1 << (i % 12)) + 1) * 0x1p-12,
                          (int)random_below(&random, 30) - 20);
    if (i % 4 == 1) factor = nextafter(factor, 0);
    if (i % 4 == 2) factor = nextafter(factor, (double)INFINITY);
    for (int t = 0; t < n; ++t) {
      check(halves, TOKAVG_DTYPE_BF16, kHalves, 0, factor, targets[t], 1);
      check(halves, TOKAVG_DTYPE_F16, kHalves, 0, factor, targets[t], 1);
    }
  }
}

static void fill(unsigned char *bytes, int32_t dtype, int64_t count, int bits, uint64_t *random) {
  const size_t element = simd_size_of(dtype);
  for (int64_t i = 0; i < count; ++i) {
    if (bits) {
      const uint64_t any = random_next(random);
      memcpy(bytes + (size_t)i * element, &any, element);
    } else {
      simd_write(bytes, dtype, i, (random_unit(random) - 0.5) * ldexp(1, (int)random_below(random, 40) - 30));
    }
  }
}

static void every_type_and_length(void **state) {
  (void)state;
  static double values[256];
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  uint64_t random = 4;
  for (int i = 0; i < kShapes; ++i) {
    const int32_t dtype = kDtypes[i % 4];
    const int64_t count = random_below(&random, 200);
    fill((unsigned char *)values, dtype, count, (int)random_below(&random, 2), &random);
    const double factor = kFactors[random_below(&random, kFactorCount)];
    const int64_t offset = random_below(&random, 16);
    for (int t = 0; t < n; ++t) check(values, dtype, count, offset, factor, targets[t], i % 50 == 0 ? 3 : 1);
  }
}

/* Long enough for several pieces, whose ends are no multiples of anything. */
static void many_threads(void **state) {
  (void)state;
  enum { kLong = 3 * (1 << 16) + 4711 };
  double *values = malloc(kLong * sizeof *values);
  const char *targets[SIMD_MOST_TARGETS];
  const int n = simd_targets(targets);
  uint64_t random = 5;
  for (int d = 0; d < 4; ++d) {
    fill((unsigned char *)values, kDtypes[d], kLong, d % 2, &random);
    for (int t = 0; t < n; ++t) {
      check(values, kDtypes[d], kLong, d, 1.0 / 3, targets[t], 3);
      check(values, kDtypes[d], kLong, d, 0, targets[t], 3);
    }
  }
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_half),
      cmocka_unit_test(halves_beside_ties),
      cmocka_unit_test(every_type_and_length),
      cmocka_unit_test(many_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
