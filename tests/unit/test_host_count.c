/* SPDX-License-Identifier: Apache-2.0 */
/* Which tokens are scored and what their weights add up to. Weights are multiples of 1/4 here, so that the expected
   sums are plain integers; those of tokens that are not scored are NaN. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/internal.h"
#include "support/layout.h"
#include "support/random.h"

enum { kRows = 5, kCols = 7, kRoom = 256 };

/* One call and what must come of it. */
typedef struct setup {
  int32_t labels_i32[kRoom];
  int64_t labels_i64[kRoom];
  uint8_t mask[kRoom];
  float weights_f32[kRoom];
  double weights_f64[kRoom];
  tokavg_labels_t labels;
  int64_t tokens;
  int64_t quarters; /* sum of the weights, times 4 */
} setup_t;

static tokavg_array_t place(void *data, size_t size, int32_t dtype, layout_t layout) {
  return (tokavg_array_t){(char *)data + (size_t)layout.first * size, dtype, TOKAVG_MEMORY_HOST, layout.row_stride,
                          layout.col_stride};
}

static void fill(setup_t *s, int64_t ignore, int64_t shift, int kinds[3], int layouts[3], uint64_t *random) {
  memset(s, 0, sizeof *s);
  const layout_t labels = layout_make(layouts[0], kRows, kCols);
  const layout_t mask = layout_make(layouts[1], kRows, kCols);
  const layout_t weights = layout_make(layouts[2], kRows, kCols);
  for (int i = 0; i < kRoom; ++i) s->weights_f64[i] = s->weights_f32[i] = NAN;
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t c = 0; c < kCols; ++c) {
      const int64_t label = random_below(random, 3) == 0 ? ignore : ignore + random_below(random, 3) - 1;
      const uint8_t masked = (uint8_t)(random_below(random, 3) * 127); /* 0, 127, 254 */
      const int64_t quarters = random_below(random, 41) - 20;
      s->labels_i32[layout_at(labels, r, c)] = (int32_t)label;
      s->labels_i64[layout_at(labels, r, c)] = label;
      s->mask[layout_at(mask, r, c)] = masked;
      if (label == ignore || c < shift || (kinds[1] != 0 && masked == 0)) continue;
      s->weights_f64[layout_at(weights, r, c)] = (double)quarters / 4;
      s->weights_f32[layout_at(weights, r, c)] = (float)quarters / 4;
      ++s->tokens;
      s->quarters += quarters;
    }
  }
  s->labels.struct_size = sizeof s->labels;
  s->labels.shift = shift;
  s->labels.rows = kRows;
  s->labels.cols = kCols;
  s->labels.labels = kinds[0] == 0 ? place(s->labels_i32, 4, TOKAVG_DTYPE_I32, labels)
                                   : place(s->labels_i64, 8, TOKAVG_DTYPE_I64, labels);
  if (kinds[1] != 0) s->labels.mask = place(s->mask, 1, TOKAVG_DTYPE_U8, mask);
  if (kinds[2] == 1) s->labels.weights = place(s->weights_f32, 4, TOKAVG_DTYPE_F32, weights);
  if (kinds[2] == 2) s->labels.weights = place(s->weights_f64, 8, TOKAVG_DTYPE_F64, weights);
}

static void check(const setup_t *s, int64_t ignore) {
  const internal_outcome_t got = internal_count(&s->labels, ignore, 0);
  assert_int_equal(got.status, TOKAVG_OK);
  assert_int_equal(got.tokens, s->tokens);
  const int weighted = s->labels.weights.data != NULL;
  assert_int_equal(got.weighted_tokens, weighted ? s->tokens : 0);
  assert_true(got.sum.units == (weighted ? (internal_int128_t)s->quarters * ((internal_int128_t)1 << 70) : 0));
}

static void every_combination(void **state) {
  (void)state;
  static const int64_t ignores[] = {-100, 0, 7};
  static const int64_t shifts[] = {0, 1, 3, kCols - 1, kCols, kCols + 1, INT64_MAX};
  static setup_t s;
  uint64_t random = 1;
  for (int i = 0; i < 2 * 2 * 3 * 7 * 3; ++i) {
    int kinds[3] = {i % 2, i / 2 % 2, i / 4 % 3};
    const int64_t shift = shifts[i / 12 % 7];
    const int64_t ignore = ignores[i / 84];
    for (int layout = 0; layout < LAYOUT_KINDS * LAYOUT_KINDS; ++layout) {
      int layouts[3] = {layout % LAYOUT_KINDS, layout / LAYOUT_KINDS, (layout + layout / LAYOUT_KINDS) % LAYOUT_KINDS};
      fill(&s, ignore, shift, kinds, layouts, &random);
      check(&s, ignore);
    }
  }
}

static tokavg_labels_t row_of(const int64_t *labels, const double *weights, int64_t cols) {
  tokavg_labels_t row = {.struct_size = sizeof row, .rows = 1, .cols = cols};
  row.labels = (tokavg_array_t){(void *)(uintptr_t)labels, TOKAVG_DTYPE_I64, TOKAVG_MEMORY_HOST, cols, 1};
  if (weights != NULL) {
    row.weights = (tokavg_array_t){(void *)(uintptr_t)weights, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_HOST, cols, 1};
  }
  return row;
}

static void nothing_to_count(void **state) {
  (void)state;
  const int64_t label = 1;
  tokavg_labels_t labels = row_of(&label, NULL, 0);
  assert_int_equal(internal_count(&labels, -100, 0).tokens, 0);
  labels = row_of(NULL, NULL, 1);
  labels.rows = 0;
  assert_int_equal(internal_count(&labels, -100, 0).tokens, 0);
}

static void the_ignored_label_is_compared_whole(void **state) {
  (void)state;
  int32_t narrow[] = {-100, -1, INT32_MIN};
  tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = 1, .cols = 3};
  labels.labels = (tokavg_array_t){narrow, TOKAVG_DTYPE_I32, TOKAVG_MEMORY_HOST, 3, 1};
  assert_int_equal(internal_count(&labels, -100, 0).tokens, 2);
  assert_int_equal(internal_count(&labels, -100 + ((int64_t)1 << 32), 0).tokens, 3);
  assert_int_equal(internal_count(&labels, INT32_MIN, 0).tokens, 2);
  const int64_t wide[] = {INT64_MIN, -100 + ((int64_t)1 << 32), -100};
  labels = row_of(wide, NULL, 3);
  assert_int_equal(internal_count(&labels, -100, 0).tokens, 2);
  assert_int_equal(internal_count(&labels, INT64_MIN, 0).tokens, 2);
}

static void bad_weights_are_named(void **state) {
  (void)state;
  const double bad[] = {NAN, INFINITY, -INFINITY, 0x1p22, -0x1p22, 1e300};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    const int64_t y[] = {5, -100, 5, 5};
    const double w[] = {1, NAN, bad[i], NAN};
    const tokavg_labels_t labels = row_of(y, w, 4);
    const internal_outcome_t got = internal_count(&labels, -100, 0);
    assert_int_equal(got.status, TOKAVG_ERR_WEIGHT);
    assert_non_null(strstr(got.text, "row 0, column 2 is "));
    char value[32];
    snprintf(value, sizeof value, "%.9g", bad[i]);
    assert_non_null(strstr(got.text, value));
  }
}

static void weights_up_to_the_limit(void **state) {
  (void)state;
  const int64_t y[] = {1, 1, 1};
  const double w[] = {0x1.fffffffffffffp21, -0x1.fffffffffffffp21, 0x1p-72};
  const tokavg_labels_t labels = row_of(y, w, 3);
  const internal_outcome_t got = internal_count(&labels, -100, 0);
  assert_int_equal(got.status, TOKAVG_OK);
  assert_true(got.sum.units == 1);
}

static void negative_weights_must_not_divide(void **state) {
  (void)state;
  const int64_t y[] = {-100, 1, 1};
  const double fine[] = {-1, -0.0, 2}, bad[] = {1, 2, -0.25};
  tokavg_labels_t labels = row_of(y, fine, 3);
  assert_int_equal(internal_count(&labels, -100, 1).status, TOKAVG_OK);
  labels = row_of(y, bad, 3);
  assert_int_equal(internal_count(&labels, -100, 0).status, TOKAVG_OK);
  const internal_outcome_t got = internal_count(&labels, -100, 1);
  assert_int_equal(got.status, TOKAVG_ERR_WEIGHT);
  assert_non_null(strstr(got.text, "row 0, column 2 is -0.25"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_combination),
      cmocka_unit_test(nothing_to_count),
      cmocka_unit_test(the_ignored_label_is_compared_whole),
      cmocka_unit_test(bad_weights_are_named),
      cmocka_unit_test(weights_up_to_the_limit),
      cmocka_unit_test(negative_weights_must_not_divide),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
