/* SPDX-License-Identifier: Apache-2.0 */
/* Sums in units of 2^-72, against arithmetic on __int128 done here. */
#include "support/unit.h"

#include <fenv.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"

typedef internal_int128_t int128;

static int128 power(int exponent) { return (int128)1 << exponent; }

static int128 largest_sum(void) { return power(126) - 1 + power(126); }

static void assert_units(int128 actual, int128 expected) {
  assert_int_equal((int64_t)(actual >> 64), (int64_t)(expected >> 64));
  assert_int_equal((uint64_t)actual, (uint64_t)expected);
}

static int128 units_of(double x) { return internal_sum_doubles(&x, 1).units; }

/* The definition: two roundings to integers that together are one. For |x| < 2^22, rounding to nearest. */
static int128 defined_units(double x) {
  const double v = rint(x * 0x1p40);
  const double u = rint((x * 0x1p40 - v) * 0x1p32);
  return (int128)(int64_t)v * power(32) + (int64_t)u;
}

/* The double nearest to units * 2^-72, ties to even, found with integers. */
static double nearest_double(int128 units) {
  int128 magnitude = units < 0 ? -units : units;
  int exponent = -72;
  while (magnitude >= power(53)) {
    int down = 0;
    while ((magnitude >> down) >= power(53)) ++down;
    const int128 rest = magnitude & (power(down) - 1);
    magnitude >>= down;
    const int128 half = power(down - 1);
    if (rest > half || (rest == half && (magnitude & 1) != 0)) ++magnitude;
    exponent += down;
  }
  const double value = ldexp((double)(int64_t)magnitude, exponent);
  return units < 0 ? -value : value;
}

static double random_double(uint64_t *random) {
  const double magnitude = ldexp(1 + random_unit(random), (int)random_below(random, 110) - 90); /* below 2^20 */
  return (random_next(random) & 1) != 0 ? -magnitude : magnitude;
}

static void each_value_is_rounded_half_to_even(void **state) {
  (void)state;
  const struct {
    double x;
    int128 units;
  } cases[] = {
      {0.0, 0},
      {-0.0, 0},
      {1.0, power(72)},
      {-1.0, -power(72)},
      {0x1p-72, 1},
      {0x1p-73, 0},
      {-0x1p-73, 0},
      {0x1.0000000000001p-73, 1},
      {0x1.fffffffffffffp-74, 0},
      {0x3p-73, 2},
      {-0x3p-73, -2},
      {0x5p-73, 2},
      {0x7p-73, 4},
      {0x1p-20 + 0x1p-72, power(52) + 1},
      {0x1p-21 + 0x1p-73, power(51)},
      {0x1p-21 + 0x3p-73, power(51) + 2},
      {0x1p-149, 0}, /* the smallest float */
      {FLT_MIN, 0},
      {DBL_TRUE_MIN, 0},
      {0x1p-135, 0}, /* where the shift reaches the width of the word */
      {0x1p-136, 0},
      {0x1.fffffffffffffp-84, 0},
      {0x1.fffffffffffffp21, power(94) - power(41)}, /* just below 2^22 */
      {-0x1.fffffep21, power(70) - power(94)},       /* the same for float */
      {0x1p22, power(94)},
      {0x1p54, power(126)},
      {-0x1p54, -power(126)},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) assert_units(units_of(cases[i].x), cases[i].units);
}

static void rounding_follows_the_definition(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < 200000; ++i) {
    const double x = random_double(&random);
    assert_units(units_of(x), defined_units(x));
    const double tie = ldexp((double)random_below(&random, 1 << 20), -73);
    assert_units(units_of(tie), defined_units(tie));
    const double narrow = (double)(float)x;
    assert_units(units_of(narrow), defined_units(narrow));
  }
}

static void the_rounding_mode_has_no_say(void **state) {
  (void)state;
  const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  uint64_t random = 2;
  for (int i = 0; i < 1000; ++i) {
    const double x = random_double(&random);
    const int128 expected = defined_units(x);
    for (int m = 0; m < 3; ++m) {
      fesetround(modes[m]);
      const int128 actual = units_of(x);
      fesetround(FE_TONEAREST);
      assert_units(actual, expected);
    }
  }
}

static void order_and_partition_do_not_show(void **state) {
  (void)state;
  enum { kValues = 257, kRounds = 500 };
  double values[kValues];
  uint64_t random = 3;
  int128 expected = 0;
  for (int i = 0; i < kValues; ++i) {
    values[i] = random_double(&random);
    expected += defined_units(values[i]);
  }
  const double expected_value = nearest_double(expected);
  for (int round = 0; round < kRounds; ++round) {
    for (int64_t i = kValues - 1; i > 0; --i) {
      const int64_t j = random_below(&random, i + 1);
      const double swapped = values[i];
      values[i] = values[j];
      values[j] = swapped;
    }
    uint64_t limbs[4] = {0, 0, 0, 0};
    for (int64_t begin = 0; begin < kValues;) {
      const int64_t length = 1 + random_below(&random, kValues - begin);
      uint64_t part[4];
      internal_to_limbs(internal_sum_doubles(values + begin, length).units, part);
      for (int k = 0; k < 4; ++k) limbs[k] += part[k];
      begin += length;
    }
    const internal_sum_t sum = internal_from_limbs(limbs, 0);
    assert_units(sum.units, expected);
    assert_memory_equal(&sum.value, &expected_value, sizeof expected_value);
  }
}

static void value_is_correctly_rounded(void **state) {
  (void)state;
  uint64_t random = 4;
  for (int i = 0; i < 100000; ++i) {
    int128 units = (int128)((unsigned __int128)random_next(&random) << 64 | random_next(&random));
    units >>= 1 + random_below(&random, 120);
    const int low = (int)random_below(&random, 64); /* ties and near ties are common then */
    units = (units >> low) * power(low);
    units += random_below(&random, 3) - 1;
    const double expected = nearest_double(units);
    const double actual = internal_sum_units(&units, 1).value;
    assert_memory_equal(&actual, &expected, sizeof expected);
  }
  const int128 zero = 0;
  assert_int_equal(signbit(internal_sum_units(&zero, 1).value), 0);
}

static void limbs_survive_any_number_of_ranks(void **state) {
  (void)state;
  uint64_t random = 5;
  for (int i = 0; i < 100000; ++i) {
    const int bits = (int)random_below(&random, 32); /* ranks, as a power of two or less */
    const int64_t ranks = (int64_t)1 << bits;
    int128 units = (int128)((unsigned __int128)random_next(&random) << 64 | random_next(&random));
    units >>= 1 + bits;
    uint64_t limbs[4];
    internal_to_limbs(units, limbs);
    for (int k = 0; k < 3; ++k) assert_true(limbs[k] <= UINT32_MAX);
    assert_true((int64_t)limbs[3] <= INT32_MAX && (int64_t)limbs[3] >= INT32_MIN);
    const int64_t several = 1 + random_below(&random, ranks);
    for (int k = 0; k < 4; ++k) limbs[k] *= (uint64_t)several;
    const internal_sum_t sum = internal_from_limbs(limbs, 0);
    assert_false(sum.too_large);
    assert_units(sum.units, units * several);
  }
}

static void carries_ripple_through_all_limbs(void **state) {
  (void)state;
  uint64_t limbs[4];
  internal_to_limbs(power(96) - 1, limbs); /* three limbs full */
  for (int k = 0; k < 3; ++k) assert_int_equal(limbs[k], UINT32_MAX);
  assert_int_equal(limbs[3], 0);
  for (int k = 0; k < 4; ++k) limbs[k] *= (uint64_t)1 << 30;
  assert_units(internal_from_limbs(limbs, 0).units, (power(96) - 1) * power(30));

  internal_to_limbs(-1, limbs);
  assert_int_equal(limbs[3], UINT64_MAX);
  for (int k = 0; k < 4; ++k) limbs[k] *= (uint64_t)1 << 31;
  assert_units(internal_from_limbs(limbs, 0).units, -power(31));

  uint64_t one[4];
  internal_to_limbs(-1, limbs);
  internal_to_limbs(1, one);
  for (int k = 0; k < 4; ++k) limbs[k] += one[k];
  assert_units(internal_from_limbs(limbs, 0).units, 0);
}

static internal_sum_t over_ranks(int128 units, uint64_t ranks, uint64_t tokens) {
  uint64_t limbs[4];
  internal_to_limbs(units, limbs);
  for (int k = 0; k < 4; ++k) limbs[k] *= ranks;
  return internal_from_limbs(limbs, tokens);
}

static void too_large_begins_at_two_to_the_127(void **state) {
  (void)state;
  const int128 up[] = {power(126), power(126) - 1, 1};
  assert_false(internal_sum_units(up, 2).too_large);
  assert_units(internal_sum_units(up, 2).units, largest_sum());
  assert_true(internal_sum_units(up, 3).too_large);
  const int128 down[] = {-power(126), 1 - power(126), -1};
  assert_false(internal_sum_units(down, 2).too_large);
  assert_true(internal_sum_units(down, 3).too_large);

  assert_false(over_ranks(power(126) - 1, 2, 0).too_large);
  assert_units(over_ranks(power(126) - 1, 2, 0).units, power(127 - 1) - 2 + power(126));
  assert_true(over_ranks(power(126), 2, 0).too_large);
  assert_false(over_ranks(1 - power(126), 2, 0).too_large);
  assert_true(over_ranks(-power(126), 2, 0).too_large);
  assert_true(over_ranks(-power(126) - 1, 2, 0).too_large);
  assert_true(over_ranks(largest_sum(), (uint64_t)1 << 31, 0).too_large);
  assert_true(over_ranks(-largest_sum(), (uint64_t)1 << 31, 0).too_large);
  assert_units(over_ranks(largest_sum(), 1, 0).units, largest_sum());
  assert_units(over_ranks(-largest_sum(), 1, 0).units, -largest_sum());
}

static void too_large_depends_on_the_sum_and_not_on_the_way(void **state) {
  (void)state;
  const int128 high = power(126);
  const int128 ways[][5] = {
      {high, high, high, -high, -high}, {-high, -high, high, high, high}, {high, -high, high, -high, high}};
  for (int i = 0; i < 3; ++i) {
    const internal_sum_t sum = internal_sum_units(ways[i], 5);
    assert_false(sum.too_large);
    assert_units(sum.units, high);
  }
  /* 2^128 is 0 modulo 2^128, and yet too large. */
  const int128 wrapped[] = {high, high, high, high};
  assert_true(internal_sum_units(wrapped, 4).too_large);
}

static void sums_of_sums(void **state) {
  (void)state;
  const int128 small[] = {5, -9, 2};
  assert_units(internal_sum_nested(small, 3, 0).units, -2);
  assert_false(internal_sum_nested(small, 3, 0).too_large);
  assert_true(internal_sum_nested(small, 3, 1).too_large);
  const int128 high = power(126);
  const int128 up[] = {high, high}, back[] = {-high, high, high}, wrapped[] = {0, high, high, high, high};
  assert_true(internal_sum_nested(up, 2, 0).too_large);
  assert_units(internal_sum_nested(back, 3, 0).units, high);
  assert_false(internal_sum_nested(back, 3, 0).too_large);
  assert_true(internal_sum_nested(wrapped, 5, 0).too_large);
  uint64_t limbs[4];
  internal_marked_to_limbs(12345, limbs);
  for (int k = 0; k < 4; ++k) assert_int_equal(limbs[k], 0);
}

static void tokens_without_weight_count_one_each(void **state) {
  (void)state;
  assert_units(over_ranks(0, 1, 0).units, 0);
  assert_units(over_ranks(0, 1, 1).units, power(72));
  assert_units(over_ranks(power(71), 3, 7).units, 3 * power(71) + 7 * power(72));
  assert_units(over_ranks(-power(73), 2, 3).units, -power(72));
  assert_units(over_ranks(1, 1, 0xffffff).units, 0xffffff * power(72) + 1);
  assert_units(over_ranks(1, 1, 0x1000001).units, 0x1000001 * power(72) + 1);
  const uint64_t limit = (uint64_t)1 << 55; /* this many ones are 2^127 units */
  assert_units(over_ranks(0, 1, limit - 1).units, (int128)(limit - 1) * power(72));
  assert_true(over_ranks(0, 1, limit).too_large);
  assert_units(over_ranks(-1, 1, limit).units, largest_sum());
  assert_true(over_ranks(0, 1, INT64_MAX).too_large);
  assert_true(over_ranks(power(126), (uint64_t)1 << 31, INT64_MAX).too_large);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_value_is_rounded_half_to_even),
      cmocka_unit_test(rounding_follows_the_definition),
      cmocka_unit_test(the_rounding_mode_has_no_say),
      cmocka_unit_test(order_and_partition_do_not_show),
      cmocka_unit_test(value_is_correctly_rounded),
      cmocka_unit_test(limbs_survive_any_number_of_ranks),
      cmocka_unit_test(carries_ripple_through_all_limbs),
      cmocka_unit_test(too_large_begins_at_two_to_the_127),
      cmocka_unit_test(too_large_depends_on_the_sum_and_not_on_the_way),
      cmocka_unit_test(sums_of_sums),
      cmocka_unit_test(tokens_without_weight_count_one_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
