/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows are scored and where results go, in every layout, beside the host's reference. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_kernels/kernels.h"
#include "support/layout.h"
#include "support/random.h"
#include "support/simd.h"

enum { kMostRows = 5, kMostCols = 7, kMostVocab = 70, kPlaces = 400, kLogits = 24 * 1024 };

/* One call's arrays. Whatever is not written stays as it was. */
typedef struct arrays {
  float logits[kLogits], gradient[kLogits]; /* or halves in the same room */
  float losses[kPlaces], lse[kPlaces], weights_f32[kPlaces];
  double weights_f64[kPlaces];
  int32_t argmax[kPlaces], labels_i32[kPlaces];
  int64_t labels_i64[kPlaces];
  uint8_t mask[kPlaces];
} arrays_t;

typedef struct setup {
  int64_t rows, cols, vocab;
  int32_t dtype;
  layout_t logits, losses; /* of rows of logits: in elements */
  tokavg_labels_t labels;
  tokavg_cross_entropy_t ce;
} setup_t;

static layout_t random_layout(int64_t rows, int64_t cols, uint64_t *random) {
  return layout_make((int)random_below(random, LAYOUT_KINDS), rows, cols);
}

static tokavg_array_t place(void *data, size_t size, int32_t dtype, layout_t layout) {
  return (tokavg_array_t){(char *)data + (size_t)layout.first * size, dtype, TOKAVG_MEMORY_CUDA, layout.row_stride,
                          layout.col_stride};
}

/* A layout of rows of logits, `pitch` elements apart. */
static layout_t of_rows(layout_t layout, int64_t pitch) {
  return (layout_t){layout.first * pitch, layout.row_stride * pitch, layout.col_stride * pitch, layout.extent * pitch};
}

static int is_scored(const setup_t *s, const arrays_t *a, int64_t r, int64_t c, layout_t labels, layout_t mask) {
  if (c < s->labels.shift || a->labels_i64[layout_at(labels, r, c)] == -100) return 0;
  return s->labels.mask.data == NULL || a->mask[layout_at(mask, r, c)] != 0;
}

static void fill(setup_t *s, arrays_t *a, uint64_t *random) {
  memset(s, 0, sizeof *s);
  memset(a, 0xa5, sizeof *a);
  static const int64_t vocabs[] = {1, 2, 5, 8, 17, 33, 64, kMostVocab};
  static const int32_t dtypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
  s->rows = 1 + random_below(random, kMostRows);
  s->cols = 1 + random_below(random, kMostCols);
  s->vocab = vocabs[random_below(random, 8)];
  s->dtype = dtypes[random_below(random, 3)];
  const size_t size = simd_size_of(s->dtype);
  const int64_t pitch = s->vocab + random_below(random, 4);
  const layout_t labels = random_layout(s->rows, s->cols, random), mask = random_layout(s->rows, s->cols, random);
  const layout_t weights = random_layout(s->rows, s->cols, random), lse = random_layout(s->rows, s->cols, random);
  const layout_t argmax = random_layout(s->rows, s->cols, random);
  s->losses = random_layout(s->rows, s->cols, random);
  s->logits = of_rows(random_layout(s->rows, s->cols, random), pitch);
  const layout_t gradient = of_rows(random_layout(s->rows, s->cols, random), pitch + random_below(random, 3));
  s->labels = (tokavg_labels_t){.struct_size = sizeof s->labels, .rows = s->rows, .cols = s->cols};
  s->labels.label_base = (int32_t)random_below(random, 2);
  s->labels.shift = random_below(random, 3) == 0 ? random_below(random, s->cols + 2) : random_below(random, 2);
  const int64_t kind = random_below(random, 12);
  s->labels.labels = kind % 2 == 0 ? place(a->labels_i32, 4, TOKAVG_DTYPE_I32, labels)
                                   : place(a->labels_i64, 8, TOKAVG_DTYPE_I64, labels);
  if (kind / 2 % 2 == 0) s->labels.mask = place(a->mask, 1, TOKAVG_DTYPE_U8, mask);
  if (kind / 4 == 1) s->labels.weights = place(a->weights_f32, 4, TOKAVG_DTYPE_F32, weights);
  if (kind / 4 == 2) s->labels.weights = place(a->weights_f64, 8, TOKAVG_DTYPE_F64, weights);
  memset(a->logits, 0xff, sizeof a->logits); /* NaN */
  for (int64_t r = 0; r < s->rows; ++r) {
    for (int64_t c = 0; c < s->cols; ++c) {
      const int64_t label = random_below(random, 4) == 0 ? -100 : random_below(random, s->vocab) + s->labels.label_base;
      a->labels_i64[layout_at(labels, r, c)] = label;
      a->labels_i32[layout_at(labels, r, c)] = (int32_t)label;
      a->mask[layout_at(mask, r, c)] = (uint8_t)(random_below(random, 3) * 127);
      a->weights_f32[layout_at(weights, r, c)] = NAN;
      a->weights_f64[layout_at(weights, r, c)] = (double)NAN;
      if (!is_scored(s, a, r, c, labels, mask)) { /* no class is as good as another there */
        if (label != -100) a->labels_i64[layout_at(labels, r, c)] = a->labels_i32[layout_at(labels, r, c)] = 1 << 30;
        continue;
      }
      const double w = random_below(random, 5) == 0 ? 0 : (double)(float)(random_unit(random) * 4 - 2);
      a->weights_f64[layout_at(weights, r, c)] = w;
      a->weights_f32[layout_at(weights, r, c)] = (float)w;
      for (int64_t k = 0; k < s->vocab; ++k) {
        simd_write(a->logits, s->dtype, layout_at(s->logits, r, c - s->labels.shift) + k, random_unit(random) * 8 - 4);
      }
    }
  }
  s->ce = (tokavg_cross_entropy_t){.struct_size = sizeof s->ce, .vocab = s->vocab, .labels = &s->labels};
  const int64_t options = random_below(random, 16);
  s->ce.label_smoothing = (options & 1) != 0 ? 0.1 : 0;
  s->ce.z_loss = (options & 2) != 0 ? 1e-3 : 0;
  s->ce.logit_softcap = (options & 12) == 12 ? 5 : 0;
  s->ce.logits = place(a->logits, size, s->dtype, s->logits);
  const int64_t outputs = random_below(random, 3 * 8);
  if (outputs % 3 == 1) s->ce.gradient_out = s->ce.logits;
  if (outputs % 3 == 2) s->ce.gradient_out = place(a->gradient, size, s->dtype, gradient);
  if ((outputs / 3 & 1) == 0) s->ce.losses_out = place(a->losses, 4, TOKAVG_DTYPE_F32, s->losses);
  if ((outputs / 3 & 2) == 0) s->ce.lse_out = place(a->lse, 4, TOKAVG_DTYPE_F32, lse);
  if ((outputs / 3 & 4) == 0) s->ce.argmax_out = place(a->argmax, 4, TOKAVG_DTYPE_I32, argmax);
}

/* The same addresses in other arrays of the same kind. */
static tokavg_array_t in(tokavg_array_t array, arrays_t *from, arrays_t *to) {
  if (array.data != NULL) array.data = (char *)to + ((char *)array.data - (char *)from);
  return array;
}

static tokavg_cross_entropy_t call_in(const setup_t *s, tokavg_labels_t *labels, arrays_t *from, arrays_t *to) {
  *labels = s->labels;
  labels->labels = in(s->labels.labels, from, to);
  labels->mask = in(s->labels.mask, from, to);
  labels->weights = in(s->labels.weights, from, to);
  tokavg_cross_entropy_t ce = s->ce;
  ce.labels = labels;
  ce.logits = in(s->ce.logits, from, to);
  ce.gradient_out = in(s->ce.gradient_out, from, to);
  ce.losses_out = in(s->ce.losses_out, from, to);
  ce.lse_out = in(s->ce.lse_out, from, to);
  ce.argmax_out = in(s->ce.argmax_out, from, to);
  return ce;
}

static void assert_near_floats(const float *got, const float *expected, size_t n, double bound) {
  for (size_t i = 0; i < n; ++i) {
    uint32_t a, b;
    memcpy(&a, &got[i], sizeof a);
    memcpy(&b, &expected[i], sizeof b);
    if (a == b) continue; /* also what was not written */
    assert_true(fabs((double)got[i] - (double)expected[i]) <= bound * fabs((double)expected[i]) + bound);
  }
}

/* All of the room, so that a wrong place shows. */
static void assert_near_logits(const setup_t *s, const void *got, const void *expected, const char *what) {
  const size_t size = simd_size_of(s->dtype);
  /* A unit in the last place. */
  const double bound = s->dtype == TOKAVG_DTYPE_F32 ? 1e-6 : s->dtype == TOKAVG_DTYPE_BF16 ? 0x1p-7 : 0x1p-10;
  for (int64_t i = 0; i < (int64_t)(kLogits * sizeof(float) / size); ++i) {
    if (memcmp((const char *)got + (size_t)i * size, (const char *)expected + (size_t)i * size, size) == 0) continue;
    const double g = simd_read(got, s->dtype, i), e = simd_read(expected, s->dtype, i);
    if (!(fabs(g - e) <= bound * fabs(e) + 1e-7)) fail_msg("%s %d: %g instead of %g", what, (int)i, g, e);
  }
}

static internal_outcome_t reference(const setup_t *s, arrays_t *from, arrays_t *to, double factor) {
  tokavg_labels_t labels;
  memcpy(to, from, sizeof *to);
  const tokavg_cross_entropy_t ce = call_in(s, &labels, from, to);
  assert_int_equal(internal_use_kernels("reference", 1), TOKAVG_OK);
  const internal_outcome_t outcome = internal_cross_entropy(&ce, -100, factor);
  if (outcome.status != TOKAVG_OK) fail_msg("%s", outcome.text);
  return outcome;
}

/* S of the losses that were written. */
static internal_int128_t sum_of_losses(const setup_t *s, const arrays_t *a) {
  internal_int128_t units = 0;
  for (int64_t r = 0; r < s->rows; ++r) {
    for (int64_t c = 0; c < s->cols; ++c) {
      const float loss = a->losses[layout_at(s->losses, r, c)];
      double product = (double)loss;
      const tokavg_array_t *w = &s->labels.weights;
      if (loss == 0) continue; /* not scored, or nothing to add */
      if (w->data != NULL) {
        const int64_t at = r * w->row_stride + c * w->col_stride;
        product *= w->dtype == TOKAVG_DTYPE_F64 ? ((const double *)w->data)[at] : (double)((const float *)w->data)[at];
      }
      units += internal_sum_doubles(&product, 1).units;
    }
  }
  return units;
}

static void every_shape(void **state) {
  (void)state;
  static arrays_t made, expected, got;
  uint64_t random = 1;
  for (int i = 0; i < 700; ++i) {
    setup_t s;
    fill(&s, &made, &random);
    kernels_multiplier_t scale = {.scale = 4, .has_factor = i % 3 != 0, .factor = i % 50 == 1 ? 0 : 0.375};
    scale.has_scale_device = i % 4 == 0;
    scale.scale_device = -2;
    const double factor = (scale.has_factor ? scale.factor : 1) * 4 * (scale.has_scale_device ? -2 : 1);
    const internal_outcome_t outcome = reference(&s, &made, &expected, factor);
    const kernels_path_t paths[] = {KERNELS_BLOCKS, KERNELS_CLUSTERS};
    for (int p = 0; p < 2; ++p) {
      if (!kernels_can(paths[p], s.vocab, s.dtype)) continue;
      memcpy(&got, &made, sizeof got);
      tokavg_labels_t labels;
      const tokavg_cross_entropy_t ce = call_in(&s, &labels, &made, &got);
      const kernels_cell_t cell = kernels_cross_entropy(&ce, -100, 0, &scale, paths[p]);
      if (cell.status != TOKAVG_OK) fail_msg("%s", cell.text);
      assert_int_equal(cell.loss_tokens, outcome.tokens);
      assert_int_equal(cell.nonfinite, 0);
      assert_true(cell.bad_labels == 0 && cell.bad_weights == 0 && cell.tokens == 0 && cell.weights.units == 0);
      if (s.ce.losses_out.data != NULL) assert_true(cell.losses.units == sum_of_losses(&s, &got));
      assert_true(fabs(cell.losses.value - outcome.sum.value) < 1e-4);
      assert_near_floats(got.losses, expected.losses, kPlaces, 4e-7);
      assert_near_floats(got.lse, expected.lse, kPlaces, 4e-7);
      assert_memory_equal(got.argmax, expected.argmax, sizeof got.argmax);
      assert_near_logits(&s, got.logits, expected.logits, "logits");
      assert_near_logits(&s, got.gradient, expected.gradient, "gradient");
    }
  }
}

static void no_rows(void **state) {
  (void)state;
  static arrays_t made;
  uint64_t random = 2;
  setup_t s;
  fill(&s, &made, &random);
  const kernels_multiplier_t scale = {.scale = 1};
  s.labels.rows = 0;
  assert_int_equal(kernels_cross_entropy(&s.ce, -100, 0, &scale, KERNELS_CHOSEN).loss_tokens, 0);
  s.labels.rows = 1;
  s.labels.cols = 0;
  assert_int_equal(kernels_cross_entropy(&s.ce, -100, 0, &scale, KERNELS_CHOSEN).loss_tokens, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_shape),
      cmocka_unit_test(no_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
