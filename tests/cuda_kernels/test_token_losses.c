/* SPDX-License-Identifier: Apache-2.0 */
/* Losses that the caller has computed: S, to the last unit of 2^-72, is that of the host's reference. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "cuda_kernels/kernels.h"
#include "support/layout.h"
#include "support/random.h"

enum { kMost = 400 };

typedef struct setup {
  int32_t labels_i32[kMost];
  int64_t labels_i64[kMost];
  uint8_t mask[kMost];
  float losses_f32[kMost], weights_f32[kMost];
  double losses_f64[kMost], weights_f64[kMost];
  tokavg_labels_t labels;
  tokavg_array_t losses;
} setup_t;

static tokavg_array_t place(void *data, size_t size, int32_t dtype, layout_t layout) {
  return (tokavg_array_t){(char *)data + (size_t)layout.first * size, dtype, TOKAVG_MEMORY_CUDA, layout.row_stride,
                          layout.col_stride};
}

static double random_loss(uint64_t *random) {
  switch (random_below(random, 12)) {
    case 0: return NAN;
    case 1: return INFINITY;
    case 2: return 0x1p22;
    case 3: return -0x1.fffffffffffffp21;
    case 4: return ldexp((double)(2 * random_below(random, 1000) + 1), -73); /* half way */
    case 5: return 1e300;
    default: return random_unit(random) * 20 - 2;
  }
}

static double random_weight(uint64_t *random) {
  static const double weights[] = {0, -0.0, 1, -1, 1e-6, 0x1.fffffffffffffp21};
  const int64_t i = random_below(random, 12);
  return i < 6 ? weights[i] : random_unit(random) * 4 - 2;
}

static layout_t random_layout(int64_t rows, int64_t cols, uint64_t *random) {
  return layout_make((int)random_below(random, LAYOUT_KINDS), rows, cols);
}

static void fill(setup_t *s, int64_t rows, int64_t cols, uint64_t *random) {
  memset(s, 0, sizeof *s);
  const layout_t losses = random_layout(rows, cols, random), labels = random_layout(rows, cols, random);
  const layout_t mask = random_layout(rows, cols, random), weights = random_layout(rows, cols, random);
  s->labels.shift = random_below(random, 2) * random_below(random, cols + 2);
  for (int i = 0; i < kMost; ++i) s->weights_f64[i] = s->weights_f32[i] = NAN;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      const int64_t label = random_below(random, 4) == 0 ? -100 : random_below(random, 9);
      const double w = random_weight(random), loss = random_loss(random);
      s->labels_i32[layout_at(labels, r, c)] = (int32_t)label;
      s->labels_i64[layout_at(labels, r, c)] = label;
      s->mask[layout_at(mask, r, c)] = (uint8_t)(random_below(random, 3) * 127);
      s->losses_f64[layout_at(losses, r, c)] = loss;
      s->losses_f32[layout_at(losses, r, c)] = (float)loss;
      if (label == -100 || c < s->labels.shift) continue;
      s->weights_f64[layout_at(weights, r, c)] = w;
      s->weights_f32[layout_at(weights, r, c)] = fabsf((float)w) < 0x1p22f ? (float)w : 3;
    }
  }
  s->labels.struct_size = sizeof s->labels;
  s->labels.rows = rows;
  s->labels.cols = cols;
  const int64_t kind = random_below(random, 24);
  s->losses = kind % 2 == 0 ? place(s->losses_f32, 4, TOKAVG_DTYPE_F32, losses)
                            : place(s->losses_f64, 8, TOKAVG_DTYPE_F64, losses);
  s->labels.labels = kind / 2 % 2 == 0 ? place(s->labels_i32, 4, TOKAVG_DTYPE_I32, labels)
                                       : place(s->labels_i64, 8, TOKAVG_DTYPE_I64, labels);
  if (kind / 4 % 2 == 0) s->labels.mask = place(s->mask, 1, TOKAVG_DTYPE_U8, mask);
  if (kind / 8 == 1) s->labels.weights = place(s->weights_f32, 4, TOKAVG_DTYPE_F32, weights);
  if (kind / 8 == 2) s->labels.weights = place(s->weights_f64, 8, TOKAVG_DTYPE_F64, weights);
}

static void assert_same(const kernels_cell_t *got, const internal_outcome_t *expected) {
  if (got->status != TOKAVG_OK) fail_msg("%s", got->text);
  assert_int_equal(expected->status, TOKAVG_OK);
  assert_int_equal(got->loss_tokens, expected->tokens);
  assert_int_equal(got->nonfinite, expected->nonfinite);
  assert_true(got->losses.units == expected->sum.units && !got->losses.too_large);
  assert_true(got->tokens == 0 && got->weights.units == 0 && got->bad_weights == 0 && got->bad_labels == 0);
}

static void every_layout(void **state) {
  (void)state;
  static setup_t s;
  uint64_t random = 1;
  assert_int_equal(internal_use_kernels("reference", 1), TOKAVG_OK);
  for (int i = 0; i < 1500; ++i) {
    const int64_t rows = 1 + random_below(&random, 6), cols = 1 + random_below(&random, 9);
    fill(&s, rows, cols, &random);
    const tokavg_labels_t *labels = i % 5 == 0 ? NULL : &s.labels;
    const kernels_cell_t got = kernels_token_losses(&s.losses, rows, cols, labels, -100, 0);
    const internal_outcome_t expected = internal_token_losses(&s.losses, rows, cols, labels, -100, 0);
    assert_same(&got, &expected);
  }
}

static void many_losses(void **state) {
  (void)state;
  enum { kRows = 257, kCols = 300, kAll = kRows * kCols };
  static float losses[kAll];
  static int32_t labels[kAll];
  uint64_t random = 2;
  for (int i = 0; i < kAll; ++i) {
    losses[i] = (float)random_loss(&random);
    labels[i] = (int32_t)random_below(&random, 5) - 1;
  }
  tokavg_labels_t view = {.struct_size = sizeof view, .rows = kRows, .cols = kCols, .shift = 1};
  view.labels = (tokavg_array_t){labels, TOKAVG_DTYPE_I32, TOKAVG_MEMORY_CUDA, kCols, 1};
  const tokavg_array_t array = {losses, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA, kCols, 1};
  for (int labelled = 0; labelled < 2; ++labelled) {
    const tokavg_labels_t *given = labelled ? &view : NULL;
    const internal_outcome_t expected = internal_token_losses(&array, kRows, kCols, given, -1, 0);
    const kernels_cell_t got = kernels_token_losses(&array, kRows, kCols, given, -1, 0);
    assert_same(&got, &expected);
    kernels_keep_cell(1);
    const kernels_cell_t twice = kernels_token_losses(&array, kRows, kCols, given, -1, 0);
    kernels_keep_cell(0);
    assert_true(twice.losses.units == 2 * got.losses.units && twice.nonfinite == 2 * got.nonfinite);
  }
}

/* The host refuses them; here the ticket fails later, and no sum may look as if nothing had happened. */
static void bad_weights_spoil_their_losses(void **state) {
  (void)state;
  static const double bad[] = {NAN, INFINITY, 0x1p22, -1};
  int64_t labels[] = {1, 1, 1};
  float losses[] = {1, 0, 2};
  for (int i = 0; i < 4; ++i) {
    double weights[] = {1, bad[i], 1};
    tokavg_labels_t view = {.struct_size = sizeof view, .rows = 1, .cols = 3};
    view.labels = (tokavg_array_t){labels, TOKAVG_DTYPE_I64, TOKAVG_MEMORY_CUDA, 3, 1};
    view.weights = (tokavg_array_t){weights, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_CUDA, 3, 1};
    const tokavg_array_t array = {losses, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA, 3, 1};
    const kernels_cell_t got = kernels_token_losses(&array, 1, 3, &view, -100, 1);
    assert_true(got.loss_tokens == 3 && got.bad_weights == 1 && got.nonfinite == 1 && got.losses.value == 3);
  }
}

static void nothing_to_add(void **state) {
  (void)state;
  float loss = 1;
  const tokavg_array_t array = {&loss, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA, 1, 1};
  assert_int_equal(kernels_token_losses(&array, 0, 1, NULL, -100, 0).loss_tokens, 0);
  assert_int_equal(kernels_token_losses(&array, 1, 0, NULL, -100, 0).loss_tokens, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_layout),
      cmocka_unit_test(many_losses),
      cmocka_unit_test(bad_weights_spoil_their_losses),
      cmocka_unit_test(nothing_to_add),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
