/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of logits of many kinds. */
#ifndef TOKAVG_TESTS_SUPPORT_LOGITS_H
#define TOKAVG_TESTS_SUPPORT_LOGITS_H

#include <stdint.h>

enum {
  LOGITS_NORMAL_TENTH, /* standard deviation */
  LOGITS_NORMAL_1,
  LOGITS_NORMAL_3,
  LOGITS_NORMAL_10,
  LOGITS_UNIFORM,
  LOGITS_EQUAL,
  LOGITS_CONFIDENT, /* the label has a probability of 1/2 to 1 - 1e-9 */
  LOGITS_WRONG,     /* another class has */
  LOGITS_RISES,     /* by 85 to 125, once, anywhere */
  LOGITS_RISES_AT_BLOCK,
  LOGITS_RISES_OFTEN,
  LOGITS_RISES_SLOWLY, /* a little each column */
  LOGITS_FALLS,
  LOGITS_FALLS_SLOWLY,
  LOGITS_HUGE,
  LOGITS_KINDS
};

/* One row, each logit as dtype holds it. */
void logits_make(int kind, int64_t label, int64_t vocab, int32_t dtype, uint64_t *random, double *row_out);

#endif
