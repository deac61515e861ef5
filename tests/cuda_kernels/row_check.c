/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_kernels/row_check.h"

#include <math.h>
#include <stdlib.h>

#include "support/unit.h"

/* One row in double: x are the logits, capped where there is a cap. */
typedef struct row {
  int64_t label;
  double *logits, *x;
  double largest; /* but the label's */
  double others;  /* sum over the classes but the label of exp(x - largest) */
  double own;     /* exp(x_y - largest) */
  double lse, loss, mean_size;
  int largest_column;
} row_t;

static const double kRounding = 0x1p-24; /* of float32 */
static const double kLossError = 2e-7;
static const double kGradientError = 4e-7;
static const double kQuickError = 1e-6; /* of gradients of 16 bits, before they are rounded */
/* x - reference is rounded once, and log2 e is a float32 in the gradient: both grow with the distance. */
static const double kErrorByDistance = 0x1p-24 + 1.4e-8;
static const double kLeastExp = 2.5e-38; /* about exp(-87), below which it is taken for 0 */

static row_t row_make(const simd_rows_t *rows, int64_t r) {
  row_t row = {.label = rows->labels[r], .largest = -(double)INFINITY, .largest_column = 0};
  row.logits = malloc((size_t)rows->vocab * 2 * sizeof(double));
  assert_non_null(row.logits);
  row.x = row.logits + rows->vocab;
  double sum = 0;
  for (int64_t k = 0; k < rows->vocab; ++k) {
    row.logits[k] = simd_read(rows->logits, rows->dtype, r * rows->vocab + k);
    if (row.logits[k] > row.logits[row.largest_column]) row.largest_column = (int)k;
    row.x[k] = rows->softcap != 0 ? rows->softcap * tanh(row.logits[k] / rows->softcap) : row.logits[k];
    if (k != row.label) row.largest = fmax(row.largest, row.x[k]);
    row.mean_size += fabs(row.x[k]) / (double)rows->vocab;
    sum += row.x[k];
  }
  for (int64_t k = 0; k < rows->vocab; ++k) row.others += k != row.label ? exp(row.x[k] - row.largest) : 0;
  const double x = row.x[row.label], e = rows->smoothing;
  row.own = exp(x - row.largest);
  const double above = row.largest - x + log(row.others), log_sum = log1p(exp(-fabs(above)));
  row.lse = above > 0 ? row.largest + (log(row.others) + log_sum) : x + log_sum;
  row.loss = (1 - e) * (fmax(above, 0) + log_sum) + rows->z_loss * row.lse * row.lse;
  if (e != 0) row.loss += e * (row.lse - sum / (double)rows->vocab);
  return row;
}

/* tanh and the product with the cap: 2 units in the last place of the cap, in x and so in log p. */
static double cap_error(const simd_rows_t *rows) { return rows->softcap != 0 ? 4 * kRounding * rows->softcap : 0; }

static int is_plain(const simd_rows_t *rows) { return rows->smoothing == 0 && rows->z_loss == 0 && rows->softcap == 0; }

/* Of plain rows what the interface promises: 2e-7 of the loss, its rounding to float32 included. */
static double loss_bound(const simd_rows_t *rows, const row_t *row) {
  /* The distance of float32's subnormals, which a loss below 2^-126 is rounded to: 2e-7 of it would be less. */
  if (is_plain(rows)) return kLossError * fabs(row->loss) + 0x1p-149;
  /* Relative errors of the parts of the loss that are differences of larger numbers. */
  double floor = 0x1p-149;
  floor += rows->smoothing * (8 * kRounding * row->mean_size + kLossError * fabs(row->lse));
  floor += rows->z_loss * 2 * fabs(row->lse) * (kLossError + kLossError * fabs(row->lse) + cap_error(rows));
  return (kLossError + kRounding + cap_error(rows)) * fabs(row->loss) + rows->smoothing * cap_error(rows) + floor;
}

static double weight_of(const simd_rows_t *rows, int64_t r) { return rows->weights != NULL ? rows->weights[r] : 1; }

static double share(double part, double of, double rest) { return isinf(of) ? 0 : part / (of + rest); }

static double cap_slope(const simd_rows_t *rows, double logit) {
  if (rows->softcap == 0) return 1;
  const double sech = 1 / cosh(logit / rows->softcap);
  return sech * sech;
}

typedef struct slope {
  double value, bound;
} slope_t;

static slope_t slope_of(const simd_rows_t *rows, int64_t r, const row_t *row, int64_t k) {
  const double scale = weight_of(rows, r) * rows->factor, e = rows->smoothing;
  const double of_p = scale * (1 + 2 * rows->z_loss * row->lse), flat = scale * e / (double)rows->vocab;
  const double distance = row->largest - row->x[k];
  double relative = kGradientError + 2 * cap_error(rows);
  slope_t slope = {.bound = 2 * kRounding * fabs(flat)};
  if (k == row->label) { /* in double but for the sum of the others */
    const double others = share(row->others, row->own, row->others);
    const double p = isinf(row->own) ? 1 : row->own / (row->own + row->others);
    slope.value = (e - others) * scale - flat + (of_p - scale) * p;
    slope.bound += relative * fabs(scale) * (others + fmin(p, others) * fabs(of_p / scale - 1)) +
                   relative * rows->z_loss * fabs(scale) * (1 + fabs(row->lse)) + 2 * kRounding * fabs(scale) * e;
  } else {
    const double p = share(exp(-distance), row->own, row->others);
    if (rows->dtype != TOKAVG_DTYPE_F32) relative = kQuickError + 2 * cap_error(rows);
    relative += kErrorByDistance * fmax(distance, 1) + relative * rows->z_loss;
    slope.value = of_p * p - flat;
    slope.bound += (distance < 1000 ? relative * fabs(of_p) * p : 0) + kLeastExp * fabs(of_p);
  }
  if (rows->softcap != 0) { /* 1 - tanh^2 from exp(-2 |u|), u = logit / cap */
    const double u = fmin(fabs(row->logits[k]) / rows->softcap, 1000);
    const double chain = cap_slope(rows, row->logits[k]);
    slope.value *= chain;
    slope.bound = slope.bound * chain + (kGradientError + 8 * kRounding * u) * fabs(slope.value);
    slope.bound += kLeastExp * fabs(of_p);
  }
  slope.bound += kRounding * fabs(slope.value) + 0x1p-146;
  return slope;
}

static void keep_larger(double *worst, double value) { *worst = value > *worst ? value : *worst; }

static void check_gradient(const simd_rows_t *rows, int64_t r, const row_t *row, const void *gradient,
                           row_errors_t *worst) {
  for (int64_t k = 0; k < rows->vocab; ++k) {
    const double g = simd_read(gradient, rows->dtype, r * rows->vocab + k);
    const slope_t slope = slope_of(rows, r, row, k);
    double low = slope.value - slope.bound, high = slope.value + slope.bound;
    if (rows->dtype != TOKAVG_DTYPE_F32) { /* the rounding, to nearest even, of some value in between */
      low = internal_from_half(internal_to_half(low, rows->dtype), rows->dtype);
      high = internal_from_half(internal_to_half(high, rows->dtype), rows->dtype);
    } else if (fabs(slope.value) < 1e38) {
      const double error = fabs(g - slope.value);
      keep_larger(&worst->used, error / slope.bound);
      if (is_plain(rows) && row->x[k] >= row->largest - 8 && fabs(slope.value) > 1e-36)
        keep_larger(k == row->label ? &worst->label_gradient : &worst->gradient, error / fabs(slope.value));
    }
    if (!(g >= low && g <= high)) {
      fail_msg("dtype %d, gradient of class %d, label %d, vocab %d: %.9g instead of %.9g +- %.2g", rows->dtype, (int)k,
               (int)row->label, (int)rows->vocab, g, slope.value, slope.bound);
    }
    if (rows->dtype == TOKAVG_DTYPE_BF16 && k == row->label && is_plain(rows) && fabs(slope.value) > 1e-30)
      assert_true(fabs(g - slope.value) <= 0.004 * fabs(slope.value));
    ++worst->checks;
  }
}

/* What is recorded is the float32 loss that is written, times the weight. */
static void check_record(const simd_rows_t *rows, const simd_results_t *got) {
  internal_int128_t units = 0;
  int64_t tokens = 0, nonfinite = 0;
  for (int64_t r = 0; r < rows->rows; ++r) {
    if (rows->labels[r] < 0) continue;
    ++tokens;
    const double product = weight_of(rows, r) * (double)got->losses[r];
    if (weight_of(rows, r) == 0) continue;
    if (!(fabs(product) < 0x1p22)) ++nonfinite;
    if (fabs(product) < 0x1p22) units += internal_sum_doubles(&product, 1).units;
  }
  assert_int_equal(got->outcome.tokens, tokens);
  assert_int_equal(got->outcome.nonfinite, nonfinite);
  assert_true(got->outcome.sum.units == units);
}

void row_check(const simd_rows_t *rows, const simd_results_t *got, row_errors_t *worst) {
  check_record(rows, got);
  for (int64_t r = 0; r < rows->rows; ++r) {
    if (rows->labels[r] < 0) continue;
    row_t row = row_make(rows, r);
    const double loss = (double)got->losses[r], lse = (double)got->lse[r], bound = loss_bound(rows, &row);
    if (!(fabs(loss - row.loss) <= bound)) {
      fail_msg("dtype %d, loss of label %d, vocab %d: %.9g instead of %.9g +- %.2g", rows->dtype, (int)row.label,
               (int)rows->vocab, loss, row.loss, bound);
    }
    if (is_plain(rows) && row.loss > 1e-37) keep_larger(&worst->loss, fabs(loss - row.loss) / row.loss);
    assert_true(fabs(lse - row.lse) <= 2 * kRounding * fabs(row.lse) + kLossError + cap_error(rows));
    keep_larger(&worst->lse, fabs(lse - row.lse) / fmax(1, fabs(row.lse)));
    assert_int_equal(got->argmax[r], row.largest_column);
    if (got->gradient != NULL) check_gradient(rows, r, &row, got->gradient, worst);
    worst->checks += 3;
    free(row.logits);
  }
}

void row_report(const char *what, const row_errors_t *worst) {
  print_message("%s: loss %.2e, lse %.2e, gradient %.2e, label's %.2e, %.2f of the bound; %lld checks\n", what,
                worst->loss, worst->lse, worst->gradient, worst->label_gradient, worst->used, (long long)worst->checks);
}
