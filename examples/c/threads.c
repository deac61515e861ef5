/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that are threads of one process, as in trainers with one thread for each GPU. No MPI is needed.
   cc threads.c -ltokavg -lm -lpthread -o threads; ./threads */
#include <pthread.h>

#include "check.h"

enum { RANKS = 3 };
/* Rank r has 2 * r + 1 tokens, whose mean loss is 4 - r. */
static const double local_mean[RANKS] = {4, 3, 2};
static int64_t n_tokens(int rank) { return 2 * rank + 1; }

struct rank {
  tokavg_config_t config;
  double scaled; /* what this rank calls backward on */
  tokavg_result_t result;
};

static void *train_one_step(void *argument) {
  struct rank *rank = argument;
  const int r = rank->config.comm_rank;
  tokavg_context_t *ctx;
  CHECK(NULL, tokavg_init(&rank->config, &ctx));
  CHECK(ctx, tokavg_count_add(ctx, 0, n_tokens(r), 0, 1)); /* a data loader knows the number of its tokens */
  tokavg_ticket_t step;
  CHECK(ctx, tokavg_reduce(ctx, NULL, NULL, &step));
  double mean = local_mean[r]; /* forward: many frameworks hand out a mean */
  tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_MEAN, .tokens = n_tokens(r)};
  loss.losses = (tokavg_array_t){.data = &mean, .dtype = TOKAVG_DTYPE_F64};
  loss.backward_out = &rank->scaled;
  CHECK(ctx, tokavg_loss(ctx, step, &loss, NULL));
  CHECK(ctx, tokavg_flush(ctx, NULL));
  rank->result = (tokavg_result_t){.struct_size = sizeof rank->result};
  CHECK(ctx, tokavg_wait(ctx, step, TOKAVG_WAIT_LOSS, -1, &rank->result));
  CHECK(ctx, tokavg_finalize(ctx));
  CHECK(ctx, tokavg_free(ctx));
  return NULL;
}

int main(void) {
  struct rank rank[RANKS];
  pthread_t thread[RANKS];
  tokavg_threads_t *group;
  CHECK(NULL, tokavg_threads_create(RANKS, &group));
  for (int r = 0; r < RANKS; r++) {
    CHECK(NULL, tokavg_config_init(&rank[r].config, sizeof rank[r].config));
    rank[r].config.comm_kind = TOKAVG_COMM_THREADS;
    rank[r].config.comm = group;
    rank[r].config.comm_rank = r;
    rank[r].config.gradient_reduction = TOKAVG_GRADIENT_SUM; /* gradients are added, not averaged */
    if (pthread_create(&thread[r], NULL, train_one_step, &rank[r]) != 0) return 1;
  }
  for (int r = 0; r < RANKS; r++) pthread_join(thread[r], NULL);
  CHECK(NULL, tokavg_threads_free(group));
  const double by_hand = (1 * 4.0 + 3 * 3.0 + 5 * 2.0) / (1 + 3 + 5); /* and not (4 + 3 + 2) / 3 */
  for (int r = 0; r < RANKS; r++) check_number("mean loss", rank[r].result.mean_loss[0], by_hand);
  check_number("sum of scaled losses", rank[0].scaled + rank[1].scaled + rank[2].scaled, by_hand);
  return 0;
}
