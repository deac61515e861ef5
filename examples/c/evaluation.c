/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation is a step like any other: count and record, reduce, read the mean. Cross entropy writes no gradient here.
   mpicc evaluation.c -ltokavg -lm -o evaluation; mpiexec -n 4 ./evaluation */
#include <tokavg/tokavg_mpi.h>

#include "check.h"

enum { SENTENCES = 5, TOKENS = 6, VOCAB = 3 };

/* Sentence s has 1 to 5 tokens after its first one, which nobody predicts; the rest is padding. */
static int32_t label(int s, int t) { return t <= 1 + s % 5 ? (s + 2 * t) % VOCAB : -100; }
/* A model that finds class k of sentence s the likelier the smaller k is. */
static float logit(int s, int k) { return -0.25f * (float)(k * (1 + s % 3)); }

/* What a sentence costs, worked out without tokavg. */
static double by_hand(int s, double *tokens) {
  double sum = 0, total = 0;
  for (int k = 0; k < VOCAB; k++) total += exp((double)logit(s, k));
  for (int t = 1; t < TOKENS; t++) {
    if (label(s, t) != -100) sum += log(total) - (double)logit(s, label(s, t)), ++*tokens;
  }
  return sum;
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tokavg_context_t *ctx;
  CHECK(NULL, tokavg_init_mpi(MPI_COMM_WORLD, TOKAVG_GRADIENT_SUM, &ctx));
  for (int s = rank; s < SENTENCES; s += ranks) { /* some ranks evaluate more than others */
    int32_t data[TOKENS];
    float logits[TOKENS * VOCAB];
    for (int t = 0; t < TOKENS; t++) data[t] = label(s, t);
    for (int i = 0; i < TOKENS * VOCAB; i++) logits[i] = logit(s, i % VOCAB);
    tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = 1, .cols = TOKENS, .shift = 1};
    labels.labels = (tokavg_array_t){.data = data, .dtype = TOKAVG_DTYPE_I32};
    CHECK(ctx, tokavg_count(ctx, &labels, NULL));
    tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = VOCAB, .labels = &labels};
    ce.logits = (tokavg_array_t){.data = logits, .dtype = TOKAVG_DTYPE_F32};
    CHECK(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL));
  }
  tokavg_ticket_t step;
  tokavg_result_t result = {.struct_size = sizeof result};
  CHECK(ctx, tokavg_reduce(ctx, NULL, NULL, &step));
  CHECK(ctx, tokavg_wait(ctx, step, TOKAVG_WAIT_LOSS, -1, &result));
  double sum = 0, tokens = 0;
  for (int s = 0; s < SENTENCES; s++) sum += by_hand(s, &tokens);
  check_number("mean loss", result.mean_loss[0], sum / tokens);
  check_number("perplexity", exp(result.mean_loss[0]), exp(sum / tokens));
  CHECK(ctx, tokavg_finalize(ctx));
  CHECK(ctx, tokavg_free(ctx));
  return MPI_Finalize();
}
