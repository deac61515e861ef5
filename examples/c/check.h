/* SPDX-License-Identifier: Apache-2.0 */
/* For the examples: a failed call, or a number that is not what was worked out by hand, ends the program. */
#ifndef TOKAVG_EXAMPLES_CHECK_H
#define TOKAVG_EXAMPLES_CHECK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tokavg/tokavg.h>

/* The text says what is wrong and what to do. ctx may be NULL where there is none yet. */
#define CHECK(ctx, call) check_status(ctx, call, #call)
static inline void check_status(tokavg_context_t *ctx, tokavg_status_t status, const char *call) {
  char text[1024] = "";
  if (status >= 0) return;
  (void)tokavg_last_error(ctx, text, sizeof text, NULL);
  fprintf(stderr, "%s: %s: %s\n", call, tokavg_status_name(status), text);
  exit(1);
}

static inline void check_number(const char *what, double got, double by_hand) {
  printf("%s: %.9g (by hand: %.9g)\n", what, got, by_hand);
  if (!(fabs(got - by_hand) <= 1e-6 * fabs(by_hand))) exit(1);
}

#endif
