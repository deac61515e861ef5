/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are threads while they are made and are then all played by the test, which so decides who comes when. */
#ifndef TOKAVG_TESTS_FAULTS_RANKS_H
#define TOKAVG_TESTS_FAULTS_RANKS_H

#include "support/api.h"
#include "support/unit.h"

/* A case is called what the report is called that it is drawn from; docs/faults.md names each of them. */
#define FAULT(source, test) \
  { source, test, NULL, NULL, NULL }
#define FAULT_OF(source, test, state) \
  { source, test, NULL, NULL, state }

enum { RANKS_MOST = 64 };

typedef struct ranks {
  int32_t n;
  tokavg_context_t *ctx[RANKS_MOST];
  tokavg_ticket_t step; /* of the latest ranks_reduce */
} ranks_t;

/* config: NULL, or that of every rank. */
void ranks_open(ranks_t *ranks, int32_t n, const tokavg_config_t *config);
/* One a rank; all on threads, unless they say that they have a table of the caller's. */
void ranks_open_each(ranks_t *ranks, int32_t n, const tokavg_config_t *configs);
void ranks_reduce(ranks_t *ranks);
/* Fails unless every rank has these tokens in term 0; that of rank 0. */
tokavg_result_t ranks_tokens(const ranks_t *ranks, int32_t what, int64_t tokens);
/* Reduced and flushed: the mean loss of term 0, and fails unless it is complete and the same bits on every rank. */
double ranks_mean(ranks_t *ranks);
void ranks_free(ranks_t *ranks);

/* Counts `labels` on rank r as one row of `cols`. */
void ranks_count(const ranks_t *ranks, int32_t r, const int32_t *labels, int64_t cols);
/* Records the sum of the losses of `tokens` tokens; what to call backward on. */
double ranks_record(tokavg_context_t *ctx, tokavg_ticket_t ticket, double sum, int64_t tokens);

/* The two ranks that many of the reports show: 1 token with loss 4, and 3 tokens with loss 1 each. */
void ranks_count_uneven(const ranks_t *two);

#endif
