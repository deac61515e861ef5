/* SPDX-License-Identifier: Apache-2.0 */
#include "faults/ranks.h"

#include <pthread.h>
#include <string.h>

typedef struct opening {
  tokavg_config_t config;
  tokavg_context_t *ctx;
  tokavg_status_t status;
  char text[512]; /* of the thread that failed */
} opening_t;

static void *open_rank(void *argument) {
  opening_t *opening = argument;
  opening->status = tokavg_init(&opening->config, &opening->ctx);
  if (opening->status != TOKAVG_OK) {
    (void)tokavg_last_error(NULL, opening->text, (int64_t)sizeof opening->text, NULL);
  }
  return NULL;
}

void ranks_open(ranks_t *ranks, int32_t n, const tokavg_config_t *config) {
  tokavg_config_t each[RANKS_MOST];
  for (int32_t r = 0; r < n; r++) each[r] = config != NULL ? *config : api_config();
  ranks_open_each(ranks, n, each);
}

void ranks_open_each(ranks_t *ranks, int32_t n, const tokavg_config_t *configs) {
  static opening_t opening[RANKS_MOST];
  pthread_t threads[RANKS_MOST];
  tokavg_threads_t *group = NULL;
  assert_true(n <= RANKS_MOST);
  OK(NULL, tokavg_threads_create(n, &group));
  for (int32_t r = 0; r < n; r++) {
    opening[r] = (opening_t){.config = configs[r]};
    if (configs[r].comm_kind != TOKAVG_COMM_CALLER) {
      opening[r].config.comm_kind = TOKAVG_COMM_THREADS;
      opening[r].config.comm = group;
      opening[r].config.comm_rank = r;
    }
    assert_int_equal(pthread_create(&threads[r], NULL, open_rank, &opening[r]), 0);
  }
  for (int32_t r = 0; r < n; r++) pthread_join(threads[r], NULL);
  OK(NULL, tokavg_threads_free(group));
  *ranks = (ranks_t){.n = n};
  for (int32_t r = 0; r < n; r++) {
    if (opening[r].status != TOKAVG_OK) fail_msg("tokavg_init on rank %d: %s", r, opening[r].text);
    ranks->ctx[r] = opening[r].ctx;
  }
}

void ranks_reduce(ranks_t *ranks) {
  for (int32_t r = 0; r < ranks->n; r++) {
    const tokavg_ticket_t ticket = api_reduce(ranks->ctx[r]);
    if (r > 0) assert_int_equal(ticket, ranks->step);
    ranks->step = ticket;
  }
}

tokavg_result_t ranks_tokens(const ranks_t *ranks, int32_t what, int64_t tokens) {
  const tokavg_status_t status = tokens == 0 ? TOKAVG_EMPTY : TOKAVG_OK;
  const tokavg_result_t first = api_result(ranks->ctx[0], ranks->step, what, status);
  for (int32_t r = 0; r < ranks->n; r++) {
    const tokavg_result_t result = api_result(ranks->ctx[r], ranks->step, what, status);
    assert_int_equal(result.tokens[0], tokens);
    ASSERT_BITS(result.factor[0], first.factor[0]);
  }
  return first;
}

double ranks_mean(ranks_t *ranks) {
  double mean = 0;
  for (int32_t r = 0; r < ranks->n; r++) OK(ranks->ctx[r], tokavg_flush(ranks->ctx[r], NULL));
  for (int32_t r = 0; r < ranks->n; r++) {
    const tokavg_result_t result = api_result(ranks->ctx[r], ranks->step, TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY);
    if (r > 0) ASSERT_BITS(result.mean_loss[0], mean);
    mean = result.mean_loss[0];
  }
  return mean;
}

void ranks_free(ranks_t *ranks) {
  for (int32_t r = 0; r < ranks->n; r++) api_free(ranks->ctx[r]);
  *ranks = (ranks_t){.n = 0};
}

void ranks_count(const ranks_t *ranks, int32_t r, const int32_t *labels, int64_t cols) {
  const tokavg_labels_t row = api_labels(labels, 1, cols);
  OK(ranks->ctx[r], tokavg_count(ranks->ctx[r], &row, NULL));
}

double ranks_record(tokavg_context_t *ctx, tokavg_ticket_t ticket, double sum, int64_t tokens) {
  double backward = -1;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &sum, tokens);
  loss.backward_out = &backward;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  return backward;
}

void ranks_count_uneven(const ranks_t *two) {
  ranks_count(two, 0, (const int32_t[]){1, -100, -100}, 3);
  ranks_count(two, 1, (const int32_t[]){1, 1, 1}, 3);
}
