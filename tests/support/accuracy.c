/* SPDX-License-Identifier: Apache-2.0 */
#include "support/accuracy.h"

#include <math.h>
#include <stdlib.h>

#include "support/unit.h"

/* One row of logits, capped where there is a cap. */
typedef struct row {
  double *x;
  double lse, largest /* but the label's */, mean_size;
} row_t;

static const double kRounding = 0x1p-24; /* of float32 */
static const double kLossError = 2e-7;
/* exp_floats, the sum of the row, the factor and the last rounding. */
static const double kGradientError = 3e-7;
/* x - reference is rounded once, and log2 e is a float32 inside exp_floats: both grow with the distance. */
static const double kErrorByDistance = 0x1p-24 + 1.4e-8;
static const double kMostAbove = 4;      /* of x over the reference */
static const double kLeastExp = 1.7e-38; /* exp(-87), below which exp_floats gives 0 */

simd_results_t accuracy_reference(const simd_rows_t *rows) {
  const int64_t elements = rows->rows * rows->vocab;
  float *logits = malloc((size_t)elements * sizeof *logits);
  assert_non_null(logits);
  for (int64_t i = 0; i < elements; ++i) logits[i] = (float)simd_read(rows->logits, rows->dtype, i);
  simd_rows_t wide = *rows;
  wide.dtype = TOKAVG_DTYPE_F32;
  wide.logits = logits;
  wide.in_place = wide.no_gradient = 0;
  simd_use("reference", 1);
  const simd_results_t results = simd_run(&wide);
  free(logits);
  return results;
}

static row_t row_make(const simd_rows_t *rows, int64_t r) {
  row_t row = {.x = malloc((size_t)rows->vocab * sizeof(double)), .largest = -(double)INFINITY};
  assert_non_null(row.x);
  double largest = -(double)INFINITY, sum = 0;
  for (int64_t k = 0; k < rows->vocab; ++k) {
    const double logit = simd_read(rows->logits, rows->dtype, r * rows->vocab + k);
    row.x[k] = rows->softcap != 0 ? rows->softcap * tanh(logit / rows->softcap) : logit;
    largest = fmax(largest, row.x[k]);
    if (k != rows->labels[r]) row.largest = fmax(row.largest, row.x[k]);
    if (isfinite(row.x[k])) row.mean_size += fabs(row.x[k]) / (double)rows->vocab;
  }
  for (int64_t k = 0; k < rows->vocab; ++k) sum += exp(row.x[k] - largest);
  row.lse = largest + log(sum);
  return row;
}

/* tanh_floats and the product with the cap: 2 units in the last place of the cap, in x and so in log p. */
static double cap_error(const simd_rows_t *rows) { return rows->softcap != 0 ? 4 * kRounding * rows->softcap : 0; }

static double loss_bound(const simd_rows_t *rows, const row_t *row, double expected) {
  /* The smallest float32. Relative errors of the parts of the loss that are differences of larger numbers. */
  double floor = 0x1p-149;
  floor += rows->smoothing * (8 * kRounding * row->mean_size + kLossError * fabs(row->lse));
  floor += rows->z_loss * 2 * fabs(row->lse) * (kLossError + kLossError * fabs(row->lse) + cap_error(rows));
  return (kLossError + cap_error(rows)) * fabs(expected) + rows->smoothing * cap_error(rows) + floor;
}

static double weight_of(const simd_rows_t *rows, int64_t r) { return rows->weights != NULL ? rows->weights[r] : 1; }

static double gradient_bound(const simd_rows_t *rows, int64_t r, const row_t *row, int64_t k, double expected) {
  const double scale = fabs(weight_of(rows, r) * rows->factor);
  const double of_p = scale * (1 + 2 * rows->z_loss * (fabs(row->lse) + 1));
  const double flat = scale * rows->smoothing / (double)rows->vocab;
  const double p = exp(row->x[k] - row->lse);
  double relative = kGradientError + 2 * cap_error(rows), slope = 1;
  double bound = 2 * kRounding * flat;
  if (k == rows->labels[r]) { /* in double but for the sum of the others */
    const double others = -expm1(row->x[k] - row->lse);
    bound += relative * (scale * fmax(others, 0) + (of_p - scale) * p) + 2 * kRounding * scale * rows->smoothing;
  } else {
    const double distance = row->largest - row->x[k];
    relative += kErrorByDistance * fmax(distance, kMostAbove);
    bound += distance < 1000 ? relative * of_p * p : 0;
    bound += kLeastExp * of_p;
  }
  if (rows->softcap != 0) { /* 1 - tanh^2 from exp(-2 |u|), u = logit / cap */
    const double over_cap = simd_read(rows->logits, rows->dtype, r * rows->vocab + k) / rows->softcap;
    const double u = fmin(fabs(over_cap), 1000); /* infinity times the slope 0 would be NaN */
    const double sech = 1 / cosh(u);
    slope = sech * sech;
    bound = bound * slope + (kGradientError + 8 * kRounding * u) * fabs(expected) + kLeastExp * of_p;
  }
  /* The reference's own rounding, and subnormal factors of exponentials up to exp(kMostAbove). */
  return bound + kRounding * fabs(expected) + 0x1p-146;
}

static int is_plain(const simd_rows_t *rows) { return rows->smoothing == 0 && rows->z_loss == 0 && rows->softcap == 0; }

static double keep_larger(double *worst, double value) { return *worst = value > *worst ? value : *worst; }

static void check_gradient(const simd_rows_t *rows, int64_t r, const row_t *row, const void *got, const float *expected,
                           accuracy_t *worst) {
  for (int64_t k = 0; k < rows->vocab; ++k) {
    const double g = simd_read(got, rows->dtype, r * rows->vocab + k);
    const double e = (double)expected[r * rows->vocab + k];
    const double bound = gradient_bound(rows, r, row, k, e);
    double low = e - bound, high = e + bound;
    if (rows->dtype != TOKAVG_DTYPE_F32) { /* the rounding, to nearest even, of some value in between */
      low = internal_from_half(internal_to_half(low, rows->dtype), rows->dtype);
      high = internal_from_half(internal_to_half(high, rows->dtype), rows->dtype);
    } else {
      keep_larger(&worst->used, fabs(g - e) / bound);
      double *largest = k == rows->labels[r] ? &worst->label_gradient : &worst->gradient;
      if (is_plain(rows) && row->x[k] >= row->largest - 8 && fabs(e) > 1e-36)
        keep_larger(largest, fabs(g - e) / fabs(e));
    }
    if (!(g >= low && g <= high)) {
      fail_msg("dtype %d, gradient of class %d, label %d, vocab %d: %.9g instead of %.9g +- %.2g", rows->dtype, (int)k,
               (int)rows->labels[r], (int)rows->vocab, g, e, bound);
    }
    ++worst->checks;
  }
}

/* What is recorded is the float32 loss that is written, times the weight. */
static void check_sum(const simd_rows_t *rows, const simd_results_t *got) {
  internal_int128_t units = 0;
  for (int64_t r = 0; r < rows->rows; ++r) {
    const double product = weight_of(rows, r) * (double)got->losses[r];
    if (rows->labels[r] >= 0 && fabs(product) < 0x1p22) units += internal_sum_doubles(&product, 1).units;
  }
  assert_true(got->outcome.sum.units == units);
}

void accuracy_check(const simd_rows_t *rows, const simd_results_t *got, const simd_results_t *expected,
                    accuracy_t *worst) {
  assert_int_equal(got->outcome.tokens, expected->outcome.tokens);
  assert_int_equal(got->outcome.nonfinite, expected->outcome.nonfinite);
  check_sum(rows, got);
  for (int64_t r = 0; r < rows->rows; ++r) {
    assert_int_equal(got->argmax[r], expected->argmax[r]);
    ++worst->checks;
    if (rows->labels[r] < 0 || !isfinite(expected->losses[r])) continue;
    row_t row = row_make(rows, r);
    const double loss = (double)got->losses[r], expected_loss = (double)expected->losses[r];
    const double lse = (double)got->lse[r], expected_lse = (double)expected->lse[r];
    const double bound = loss_bound(rows, &row, expected_loss);
    if (!(fabs(loss - expected_loss) <= bound)) {
      fail_msg("dtype %d, loss of label %d, vocab %d: %.9g instead of %.9g +- %.2g", rows->dtype, (int)rows->labels[r],
               (int)rows->vocab, loss, expected_loss, bound);
    }
    if (is_plain(rows) && expected_loss != 0) keep_larger(&worst->loss, fabs(loss - expected_loss) / expected_loss);
    /* Two neighbours of float32, or what the sum of exponentials is off. */
    assert_true(fabs(lse - expected_lse) <= 2 * kRounding * fabs(expected_lse) + kLossError + cap_error(rows));
    keep_larger(&worst->lse, fabs(lse - expected_lse) / fmax(1, fabs(expected_lse)));
    if (got->gradient != NULL) check_gradient(rows, r, &row, got->gradient, expected->gradient, worst);
    worst->checks += 2;
    free(row.x);
  }
}
