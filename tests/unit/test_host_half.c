/* SPDX-License-Identifier: Apache-2.0 */
/* bfloat16 and binary16: every bit pattern, every midpoint between neighbours and both sides of it. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/internal.h"

typedef struct format {
  int32_t dtype;
  int exponent_bits;
  int fraction_bits;
} format_t;

static const format_t kFormats[] = {{TOKAVG_DTYPE_BF16, 8, 7}, {TOKAVG_DTYPE_F16, 5, 10}};

static unsigned infinity_bits(format_t f) { return ((1u << f.exponent_bits) - 1) << f.fraction_bits; }

/* The magnitude of a pattern without sign, by the formula of IEEE 754. At infinity: the number that would come next. */
static double magnitude_of(unsigned bits, format_t f) {
  const int bias = (1 << (f.exponent_bits - 1)) - 1;
  const int exponent = (int)(bits >> f.fraction_bits);
  const unsigned fraction = bits & ((1u << f.fraction_bits) - 1);
  if (exponent == 0) return ldexp(fraction, 1 - bias - f.fraction_bits);
  return ldexp(fraction + (1u << f.fraction_bits), exponent - bias - f.fraction_bits);
}

static uint16_t rounded(double value, format_t f) { return internal_to_half(value, f.dtype); }

static void every_pattern_is_read_and_comes_back(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    const format_t f = kFormats[i];
    for (unsigned bits = 0; bits <= 0xffff; ++bits) {
      const unsigned magnitude = bits & 0x7fff;
      const double value = internal_from_half((uint16_t)bits, f.dtype);
      assert_int_equal(signbit(value) != 0, bits >> 15);
      if (magnitude > infinity_bits(f)) {
        assert_true(isnan(value));
        assert_int_equal(rounded(value, f), bits | 1u << (f.fraction_bits - 1)); /* quiet, payload kept */
        continue;
      }
      assert_int_equal(rounded(value, f), bits);
      if (magnitude == infinity_bits(f)) {
        assert_true(isinf(value));
      } else {
        assert_true(fabs(value) == magnitude_of(magnitude, f));
      }
    }
  }
}

static void bfloat16_is_the_upper_half_of_a_float(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const uint32_t wide = bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    assert_true(internal_from_half((uint16_t)bits, TOKAVG_DTYPE_BF16) == (double)value);
  }
}

static void known_binary16_values(void **state) {
  (void)state;
  const struct {
    unsigned bits;
    double value;
  } cases[] = {{0x3c00, 1}, {0x3555, 0x1.554p-2}, {0x7bff, 65504}, {0x0400, 0x1p-14}, {0x0001, 0x1p-24}, {0xc000, -2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    assert_true(internal_from_half((uint16_t)cases[i].bits, TOKAVG_DTYPE_F16) == cases[i].value);
  }
}

static void between_neighbours_the_nearer_wins_and_ties_go_to_even(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    const format_t f = kFormats[i];
    for (unsigned bits = 0; bits < infinity_bits(f); ++bits) { /* the last pair is the largest number and infinity */
      const double middle = (magnitude_of(bits, f) + magnitude_of(bits + 1, f)) / 2;
      const unsigned even = (bits & 1) != 0 ? bits + 1 : bits;
      assert_int_equal(rounded(middle, f), even);
      assert_int_equal(rounded(nextafter(middle, 0), f), bits);
      assert_int_equal(rounded(nextafter(middle, INFINITY), f), bits + 1);
      assert_int_equal(rounded(-middle, f), even | 0x8000);
      assert_int_equal(rounded(-nextafter(middle, INFINITY), f), (bits + 1) | 0x8000);
    }
  }
}

static void far_out_values(void **state) {
  (void)state;
  for (int i = 0; i < 2; ++i) {
    const format_t f = kFormats[i];
    assert_int_equal(rounded(1e308, f), infinity_bits(f));
    assert_int_equal(rounded(-1e308, f), infinity_bits(f) | 0x8000);
    assert_int_equal(rounded(INFINITY, f), infinity_bits(f));
    assert_int_equal(rounded(0x1p-1074, f), 0);
    assert_int_equal(rounded(-0x1p-1074, f), 0x8000);
    assert_int_equal(rounded(1e-60, f), 0);
    assert_int_equal(rounded(-0.0, f), 0x8000);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_pattern_is_read_and_comes_back),
      cmocka_unit_test(bfloat16_is_the_upper_half_of_a_float),
      cmocka_unit_test(known_binary16_values),
      cmocka_unit_test(between_neighbours_the_nearer_wins_and_ties_go_to_even),
      cmocka_unit_test(far_out_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
