/* SPDX-License-Identifier: Apache-2.0 */
#include "support/logits.h"

#include <math.h>

#include "support/random.h"
#include "tokavg/types.h"

enum { kBlock = 1024 };

static double normal(uint64_t *random) {
  const double radius = sqrt(-2 * log(1 - random_unit(random)));
  return radius * cos(6.283185307179586 * random_unit(random));
}

/* To the digits of the type; exponents need no care here. */
static double rounded(double value, int32_t dtype) {
  if (dtype == TOKAVG_DTYPE_F32) return (double)(float)value;
  int exponent = 0;
  const double digits = dtype == TOKAVG_DTYPE_BF16 ? 0x1p8 : 0x1p11;
  return ldexp(rint(frexp(value, &exponent) * digits) / digits, exponent);
}

static double deviation_of(int kind) {
  switch (kind) {
    case LOGITS_NORMAL_TENTH: return 0.1;
    case LOGITS_NORMAL_3: return 3;
    case LOGITS_NORMAL_10: return 10;
    default: return 1;
  }
}

/* Column k of a row whose level changes. */
static double level_of(int kind, int64_t k, int64_t vocab, int64_t edge, double height) {
  switch (kind) {
    case LOGITS_RISES:
    case LOGITS_RISES_AT_BLOCK: return k >= edge ? height : 0;
    case LOGITS_RISES_OFTEN: return fmin((double)(k / (edge % 700 + 1)), 40) * fmod(height, 7) * 13;
    case LOGITS_RISES_SLOWLY: return (double)k * height / (double)vocab;
    case LOGITS_FALLS: return k >= edge ? -height : 0;
    case LOGITS_FALLS_SLOWLY: return -(double)k * height / (double)vocab;
    default: return 0;
  }
}

/* Gives class `winner` about probability p. */
static void favour(double *row, int64_t vocab, int64_t winner, double p) {
  double others = 0;
  for (int64_t k = 0; k < vocab; ++k) others += k != winner ? exp(row[k]) : 0;
  if (others > 0) row[winner] = log(others) + log(p / (1 - p));
}

void logits_make(int kind, int64_t label, int64_t vocab, int32_t dtype, uint64_t *random, double *row_out) {
  static const double ps[] = {0.5, 0.9, 0.99, 0.999, 0.9999, 0.999999, 1 - 1e-9};
  const double most = dtype == TOKAVG_DTYPE_F16 ? 6e4 : 1e30;
  const double deviation = deviation_of(kind), height = 85 + 40 * random_unit(random), equal = 20 * normal(random);
  const int64_t anywhere = random_below(random, vocab), blocks = vocab / kBlock;
  int64_t edge = anywhere;
  if (kind == LOGITS_RISES_AT_BLOCK) {
    edge = blocks == 0 ? anywhere : kBlock * (1 + random_below(random, blocks)) + random_below(random, 3) - 1;
  }
  const double p = ps[random_below(random, sizeof ps / sizeof *ps)];
  for (int64_t k = 0; k < vocab; ++k) {
    switch (kind) {
      case LOGITS_UNIFORM: row_out[k] = 10 * random_unit(random) - 5; break;
      case LOGITS_EQUAL: row_out[k] = equal; break;
      case LOGITS_HUGE: row_out[k] = most * (random_below(random, 3) == 0 ? 2 * random_unit(random) - 1 : -1); break;
      default: row_out[k] = deviation * normal(random) + level_of(kind, k, vocab, edge, height);
    }
  }
  if (kind == LOGITS_CONFIDENT) favour(row_out, vocab, label, p);
  if (kind == LOGITS_WRONG && anywhere != label) favour(row_out, vocab, anywhere, p);
  for (int64_t k = 0; k < vocab; ++k) row_out[k] = rounded(row_out[k], dtype);
}
