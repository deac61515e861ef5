/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling in place, and single values. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"

static void floats_are_rounded_once(void **state) {
  (void)state;
  enum { kCount = 1000 }; /* several blocks and a rest */
  float values[kCount + 1], before[kCount + 1];
  double doubles[kCount + 1];
  uint64_t random = 1;
  for (int i = 0; i <= kCount; ++i) {
    before[i] = values[i] = (float)(random_unit(&random) - 0.5);
    doubles[i] = values[i];
  }
  const double factor = 1.0 / 3;
  assert_int_equal(internal_scale(values, TOKAVG_DTYPE_F32, kCount, factor), TOKAVG_OK);
  assert_int_equal(internal_scale(doubles, TOKAVG_DTYPE_F64, kCount, factor), TOKAVG_OK);
  for (int i = 0; i < kCount; ++i) {
    assert_true(values[i] == (float)((double)before[i] * factor));
    assert_true(doubles[i] == (double)before[i] * factor);
  }
  assert_true(values[kCount] == before[kCount]); /* not beyond the end */
  assert_true(doubles[kCount] == (double)before[kCount]);
}

static void halves_are_rounded_once(void **state) {
  (void)state;
  /* A detour over float would turn the first product into a tie. */
  uint16_t f16[] = {0x3c00, 0x3c01, 0x0001, 0x7bff, 0xbc00};
  assert_int_equal(internal_scale(f16, TOKAVG_DTYPE_F16, 5, 1 + 0x1p-11 + 0x1p-40), TOKAVG_OK);
  assert_int_equal(f16[0], 0x3c01); /* above the tie between 1 and its successor */
  assert_int_equal(f16[1], 0x3c02);
  assert_int_equal(f16[2], 0x0001);
  assert_int_equal(f16[3], 0x7c00);
  assert_int_equal(f16[4], 0xbc01);
  uint16_t tie[] = {0x3c00, 0x3c01};
  assert_int_equal(internal_scale(tie, TOKAVG_DTYPE_F16, 1, 1 + 0x1p-11), TOKAVG_OK);
  assert_int_equal(tie[0], 0x3c00); /* to even */
  assert_int_equal(tie[1], 0x3c01); /* not touched */
  uint16_t bf16[] = {0x3f80, 0x0001, 0x7f7f, 0x7f81};
  assert_int_equal(internal_scale(bf16, TOKAVG_DTYPE_BF16, 4, 2.5), TOKAVG_OK);
  assert_int_equal(bf16[0], 0x4020);
  assert_int_equal(bf16[1], 0x0002); /* 2.5 units of the subnormals: to even */
  assert_int_equal(bf16[2], 0x7f80);
  assert_int_equal(bf16[3], 0x7fc1); /* NaN, quiet */
}

static void factor_zero_writes_zeros(void **state) {
  (void)state;
  const double zeros[4] = {0, 0, 0, 0};
  for (int minus = 0; minus < 2; ++minus) {
    const double factor = minus != 0 ? -0.0 : 0.0;
    float f32[] = {NAN, INFINITY, -1, 7};
    double f64[] = {NAN, -INFINITY, -1, 7};
    uint16_t bf16[] = {0x7fff, 0xff80, 0xbf80, 0x1234};
    uint16_t f16[] = {0x7fff, 0xfc00, 0xbc00, 0x1234};
    internal_scale(f32, TOKAVG_DTYPE_F32, 3, factor);
    internal_scale(f64, TOKAVG_DTYPE_F64, 3, factor);
    internal_scale(bf16, TOKAVG_DTYPE_BF16, 3, factor);
    internal_scale(f16, TOKAVG_DTYPE_F16, 3, factor);
    assert_memory_equal(f32, zeros, 3 * sizeof *f32);
    assert_memory_equal(f64, zeros, 3 * sizeof *f64);
    assert_memory_equal(bf16, zeros, 3 * sizeof *bf16);
    assert_memory_equal(f16, zeros, 3 * sizeof *f16);
    assert_true(f32[3] == 7 && f64[3] == 7 && bf16[3] == 0x1234 && f16[3] == 0x1234);
  }
}

static void nothing_to_scale(void **state) {
  (void)state;
  assert_int_equal(internal_scale(NULL, TOKAVG_DTYPE_F32, 0, 2), TOKAVG_OK);
  assert_int_equal(internal_scale(NULL, TOKAVG_DTYPE_F32, 0, 0), TOKAVG_OK);
  float x = 1;
  assert_int_equal(internal_scale(&x, TOKAVG_DTYPE_I32, 1, 2), TOKAVG_ERR_INTERNAL);
}

static void single_values(void **state) {
  (void)state;
  float f32 = 0;
  double f64 = 0;
  internal_write(&f32, TOKAVG_DTYPE_F32, 0.1);
  internal_write(&f64, TOKAVG_DTYPE_F64, 0.1);
  assert_true(f32 == 0.1f && f64 == 0.1);
  assert_true(internal_read(&f32, TOKAVG_DTYPE_F32) == (double)0.1f);
  assert_true(internal_read(&f64, TOKAVG_DTYPE_F64) == 0.1);
}

static void describes_itself(void **state) {
  (void)state;
  char device[128], factory[128];
  internal_describe(device, factory, sizeof device);
  assert_non_null(strstr(device, "\"name\":\"host\""));
  assert_non_null(strstr(factory, "\"name\":\"host\""));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(floats_are_rounded_once),
      cmocka_unit_test(halves_are_rounded_once),
      cmocka_unit_test(factor_zero_writes_zeros),
      cmocka_unit_test(nothing_to_scale),
      cmocka_unit_test(single_values),
      cmocka_unit_test(describes_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
