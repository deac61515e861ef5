/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of per-token losses. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/internal.h"
#include "support/layout.h"
#include "support/random.h"

enum { kRows = 4, kCols = 6, kRoom = 128 };

static const double kUnit = 0x1p-72;

static tokavg_array_t array_of(void *data, int32_t dtype, int64_t cols) {
  return (tokavg_array_t){data, dtype, TOKAVG_MEMORY_HOST, cols, 1};
}

static tokavg_labels_t labels_of(int64_t *labels, double *weights, int64_t cols) {
  tokavg_labels_t row = {.struct_size = sizeof row, .rows = 1, .cols = cols};
  row.labels = array_of(labels, TOKAVG_DTYPE_I64, cols);
  if (weights != NULL) row.weights = array_of(weights, TOKAVG_DTYPE_F64, cols);
  return row;
}

/* Losses and weights are multiples of 2^-10 below 2^9: the expected sum is that of the products as integers. */
static void sums_in_every_layout(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < 2 * 3 * 3 * LAYOUT_KINDS * LAYOUT_KINDS; ++i) {
    const int wide = i % 2, weighted = i / 2 % 3;
    const int64_t shift = i / 6 % 3;
    const layout_t where = layout_make(i / 18 % LAYOUT_KINDS, kRows, kCols);
    const layout_t labels_where = layout_make(i / 18 / LAYOUT_KINDS, kRows, kCols);
    float losses_f32[kRoom], weights_f32[kRoom];
    double losses_f64[kRoom], weights_f64[kRoom];
    int32_t labels[kRoom] = {0};
    uint8_t mask[kRoom] = {0};
    for (int k = 0; k < kRoom; ++k) losses_f64[k] = losses_f32[k] = weights_f32[k] = NAN, weights_f64[k] = NAN;
    int64_t tokens = 0;
    internal_int128_t expected = 0;
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t c = 0; c < kCols; ++c) {
        const int64_t l = random_below(&random, 1 << 19) - (1 << 18);
        const int64_t w = weighted == 0 ? 1 << 10 : random_below(&random, 1 << 19) - (1 << 18);
        const int32_t label = (int32_t)random_below(&random, 3) - 1;
        const uint8_t masked = (uint8_t)random_below(&random, 3);
        labels[layout_at(labels_where, r, c)] = label;
        mask[layout_at(labels_where, r, c)] = masked;
        if (label == -1 || masked == 0 || c < shift) continue;
        losses_f64[layout_at(where, r, c)] = losses_f32[layout_at(where, r, c)] = (float)l * 0x1p-10f;
        weights_f64[layout_at(where, r, c)] = weights_f32[layout_at(where, r, c)] = (float)w * 0x1p-10f;
        ++tokens;
        expected += (internal_int128_t)w * l;
      }
    }
    tokavg_array_t losses = {losses_f32 + where.first, TOKAVG_DTYPE_F32, 0, where.row_stride, where.col_stride};
    if (wide) losses.data = losses_f64 + where.first, losses.dtype = TOKAVG_DTYPE_F64;
    tokavg_labels_t view = {.struct_size = sizeof view, .shift = shift, .rows = kRows, .cols = kCols};
    view.labels = (tokavg_array_t){labels + labels_where.first, TOKAVG_DTYPE_I32, 0, labels_where.row_stride,
                                   labels_where.col_stride};
    view.mask = (tokavg_array_t){mask + labels_where.first, TOKAVG_DTYPE_U8, 0, labels_where.row_stride,
                                 labels_where.col_stride};
    view.weights = losses;
    view.weights.data = weights_f64 + where.first;
    view.weights.dtype = TOKAVG_DTYPE_F64;
    if (weighted == 1) view.weights.data = weights_f32 + where.first, view.weights.dtype = TOKAVG_DTYPE_F32;
    if (weighted == 0) view.weights.data = NULL;
    const internal_outcome_t got = internal_token_losses(&losses, kRows, kCols, &view, -1, 0);
    assert_int_equal(got.status, TOKAVG_OK);
    assert_int_equal(got.tokens, tokens);
    assert_int_equal(got.nonfinite, 0);
    assert_true(got.sum.units == expected * ((internal_int128_t)1 << 52));
  }
}

static void without_labels_every_element_counts(void **state) {
  (void)state;
  float losses[] = {1, 2, NAN, 4, INFINITY, 6};
  const tokavg_array_t array = {losses, TOKAVG_DTYPE_F32, 0, 3, 1};
  const internal_outcome_t got = internal_token_losses(&array, 2, 3, NULL, -100, 0);
  assert_int_equal(got.tokens, 6);
  assert_int_equal(got.nonfinite, 2);
  assert_true(got.sum.value == 13);
  assert_int_equal(internal_token_losses(&array, 0, 3, NULL, -100, 0).tokens, 0);
}

static void the_product_is_rounded_once(void **state) {
  (void)state;
  /* (1 + 2^-30)(1 + 2^-52) = 1 + 2^-30 + 2^-52 + 2^-82: one rounding drops the last part, fixed point never sees it. */
  double losses[] = {1 + 0x1p-30}, weights[] = {1 + 0x1p-52};
  int64_t y[] = {0};
  const tokavg_array_t array = array_of(losses, TOKAVG_DTYPE_F64, 1);
  tokavg_labels_t labels = labels_of(y, weights, 1);
  assert_true(internal_token_losses(&array, 1, 1, &labels, -100, 0).sum.value == 1 + 0x1p-30 + 0x1p-52);
  /* float32 factors: their product has 48 bits and is exact, where float arithmetic would have rounded it. */
  float narrow_loss[] = {1 + 0x1p-23f}, narrow_weight[] = {1 + 0x1p-22f};
  labels.weights = array_of(narrow_weight, TOKAVG_DTYPE_F32, 1);
  const tokavg_array_t narrow = array_of(narrow_loss, TOKAVG_DTYPE_F32, 1);
  const internal_int128_t one = (internal_int128_t)1 << 72;
  assert_true(internal_token_losses(&narrow, 1, 1, &labels, -100, 0).sum.units ==
              one + (one >> 23) + (one >> 22) + (one >> 45));
}

static void non_finite_losses_are_counted_and_left_out(void **state) {
  (void)state;
  double losses[] = {NAN, INFINITY, -INFINITY, 0x1p22, -0x1p22, 0x1.fffffffffffffp21, -0x1.fffffffffffffp21, kUnit};
  int64_t y[] = {0, 0, 0, 0, 0, 0, 0, 0};
  const tokavg_array_t array = array_of(losses, TOKAVG_DTYPE_F64, 8);
  const tokavg_labels_t labels = labels_of(y, NULL, 8);
  const internal_outcome_t got = internal_token_losses(&array, 1, 8, &labels, -100, 0);
  assert_int_equal(got.tokens, 8);
  assert_int_equal(got.nonfinite, 5);
  assert_true(got.sum.units == 1);
}

static void the_limit_is_that_of_the_product(void **state) {
  (void)state;
  double losses[] = {0x1p30, 0x1p21, 3}, weights[] = {0x1p-10, 2, 1};
  int64_t y[] = {0, 0, 0};
  const tokavg_array_t array = array_of(losses, TOKAVG_DTYPE_F64, 3);
  const tokavg_labels_t labels = labels_of(y, weights, 3);
  const internal_outcome_t got = internal_token_losses(&array, 1, 3, &labels, -100, 0);
  assert_int_equal(got.nonfinite, 1);
  assert_true(got.sum.value == 0x1p20 + 3);
}

static void weight_zero_counts_the_token_but_not_its_loss(void **state) {
  (void)state;
  double losses[] = {NAN, INFINITY, 5}, weights[] = {0, -0.0, 0.5};
  int64_t y[] = {0, 0, 0};
  const tokavg_array_t array = array_of(losses, TOKAVG_DTYPE_F64, 3);
  const tokavg_labels_t labels = labels_of(y, weights, 3);
  const internal_outcome_t got = internal_token_losses(&array, 1, 3, &labels, -100, 0);
  assert_int_equal(got.tokens, 3);
  assert_int_equal(got.nonfinite, 0);
  assert_true(got.sum.value == 2.5);
}

static void bad_weights_are_refused(void **state) {
  (void)state;
  double losses[] = {1, 1, 1}, weights[] = {NAN, 1, -1}, worse[] = {1, 1, NAN};
  int64_t y[] = {-100, 0, 0};
  const tokavg_array_t array = array_of(losses, TOKAVG_DTYPE_F64, 3);
  tokavg_labels_t labels = labels_of(y, weights, 3);
  assert_int_equal(internal_token_losses(&array, 1, 3, &labels, -100, 0).status, TOKAVG_OK);
  assert_int_equal(internal_token_losses(&array, 1, 3, &labels, -100, 1).status, TOKAVG_ERR_WEIGHT);
  labels = labels_of(y, worse, 3);
  const internal_outcome_t got = internal_token_losses(&array, 1, 3, &labels, -100, 0);
  assert_int_equal(got.status, TOKAVG_ERR_WEIGHT);
  assert_non_null(strstr(got.text, "row 0, column 2 is nan"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_in_every_layout),
      cmocka_unit_test(without_labels_every_element_counts),
      cmocka_unit_test(the_product_is_rounded_once),
      cmocka_unit_test(non_finite_losses_are_counted_and_left_out),
      cmocka_unit_test(the_limit_is_that_of_the_product),
      cmocka_unit_test(weight_zero_counts_the_token_but_not_its_loss),
      cmocka_unit_test(bad_weights_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
