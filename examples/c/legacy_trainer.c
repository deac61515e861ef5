/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer as llm.c has it, with tokavg put in: what was added or changed is marked with "tokavg:". The model is a
   table of logits per token, so that its gradient can be checked by hand. mpicc legacy_trainer.c -ltokavg -lm -o
   legacy_trainer; mpiexec -n 4 ./legacy_trainer */
#include <string.h>
#include <tokavg/tokavg_mpi.h> /* tokavg: added */

#include "check.h"

enum { B = 2, T = 3, V = 4, IGNORED = -100 };

typedef struct model {
  float logits[V][V]; /* of the next token, by token */
  float grads[V][V];
  float probs[B * T][V];
  float losses[B * T];
} model_t;

/* A batch of tokens and of targets. Padding is not scored, and every rank has another amount of it. */
static void load(int rank, int *inputs, int *targets) {
  for (int i = 0; i < B * T; i++) {
    inputs[i] = (rank + i) % V;
    targets[i] = i <= rank ? (rank + 2 * i) % V : IGNORED;
  }
}

/* As before: probabilities and losses of all tokens. */
static void forward(model_t *model, const int *inputs, const int *targets) {
  for (int i = 0; i < B * T; i++) {
    float sum = 0;
    for (int k = 0; k < V; k++) sum += model->probs[i][k] = expf(model->logits[inputs[i]][k]);
    for (int k = 0; k < V; k++) model->probs[i][k] /= sum;
    model->losses[i] = targets[i] == IGNORED ? 0 : -logf(model->probs[i][targets[i]]);
  }
}

/* tokavg: dloss was 1.0f / (B * T), which counts padding and knows nothing of the other ranks. */
static void backward(model_t *model, const int *inputs, const int *targets, float dloss) {
  for (int i = 0; i < B * T; i++) {
    if (targets[i] == IGNORED) continue;
    for (int k = 0; k < V; k++) {
      model->grads[inputs[i]][k] += (model->probs[i][k] - (k == targets[i] ? 1.0f : 0.0f)) * dloss;
    }
  }
}

/* The gradient that one process with the data of all ranks has: a mean over all scored tokens. */
static void check_gradient(const model_t *model, int ranks) {
  double sum[V][V] = {{0}}, tokens = 0;
  int inputs[B * T], targets[B * T];
  for (int rank = 0; rank < ranks; rank++) {
    load(rank, inputs, targets);
    for (int i = 0; i < B * T; i++) {
      if (targets[i] == IGNORED) continue;
      tokens++; /* all logits are 0: every probability is 1 / V */
      for (int k = 0; k < V; k++) sum[inputs[i]][k] += 1.0 / V - (k == targets[i] ? 1 : 0);
    }
  }
  for (int i = 0; i < V * V; i++) {
    const double by_hand = sum[i / V][i % V] / tokens;
    if (fabs((double)model->grads[i / V][i % V] - by_hand) > 1e-6) {
      fprintf(stderr, "gradient %d is %g, by hand %g\n", i, (double)model->grads[i / V][i % V], by_hand);
      exit(1);
    }
  }
}

int main(int argc, char **argv) {
  static model_t model;
  int rank, ranks, inputs[B * T], targets[B * T];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tokavg_context_t *ctx; /* tokavg: added, once */
  CHECK(NULL, tokavg_init_mpi(MPI_COMM_WORLD, TOKAVG_GRADIENT_MEAN, &ctx));

  load(rank, inputs, targets);
  tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = B, .cols = T}; /* tokavg: added */
  labels.labels = (tokavg_array_t){.data = targets, .dtype = TOKAVG_DTYPE_I32};
  tokavg_ticket_t step;
  CHECK(ctx, tokavg_count(ctx, &labels, NULL));      /* tokavg: first call */
  CHECK(ctx, tokavg_reduce(ctx, NULL, NULL, &step)); /* tokavg: second call; it returns at once */
  memset(model.grads, 0, sizeof model.grads);
  forward(&model, inputs, targets);
  double factor;
  CHECK(ctx, tokavg_factor(ctx, step, 0, TOKAVG_FACTOR_SCALE, &factor)); /* tokavg: third call */
  backward(&model, inputs, targets, (float)factor);
  MPI_Allreduce(MPI_IN_PLACE, model.grads, V * V, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < V * V; i++) model.grads[i / V][i % V] /= (float)ranks; /* as before: an average */
  check_gradient(&model, ranks);
  if (rank == 0) printf("the gradient is that of one process\n");
  CHECK(ctx, tokavg_finalize(ctx)); /* tokavg: added, once */
  CHECK(ctx, tokavg_free(ctx));
  return MPI_Finalize();
}
