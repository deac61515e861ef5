/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling before backward: the counts are summed over the ranks while the forward passes run.
   mpicc pre_scaling.c -ltokavg -lm -o pre_scaling; mpiexec -n 4 ./pre_scaling */
#include <tokavg/tokavg_mpi.h>

#include "check.h"

enum { MICROBATCHES = 2, TOKENS = 4 };

/* Rank 0 scores 1 token of a microbatch, rank 1 two, ...: the ranks are uneven, as with real text. */
static int32_t label(int rank, int m, int t) { return t <= rank % TOKENS ? 1 + m + t : -100; }
/* A model of one weight w: the loss of a token is w * label, so that its slope is loss / w. */
static const double w = 0.5;

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tokavg_context_t *ctx;
  CHECK(NULL, tokavg_init_mpi(MPI_COMM_WORLD, TOKAVG_GRADIENT_MEAN, &ctx));

  int32_t data[MICROBATCHES][TOKENS];
  tokavg_labels_t labels[MICROBATCHES];
  for (int m = 0; m < MICROBATCHES; m++) {
    for (int t = 0; t < TOKENS; t++) data[m][t] = label(rank, m, t);
    labels[m] = (tokavg_labels_t){.struct_size = sizeof(tokavg_labels_t), .rows = 1, .cols = TOKENS};
    labels[m].labels = (tokavg_array_t){.data = data[m], .dtype = TOKAVG_DTYPE_I32};
    CHECK(ctx, tokavg_count(ctx, &labels[m], NULL));
  }
  tokavg_ticket_t step;
  CHECK(ctx, tokavg_reduce(ctx, NULL, NULL, &step)); /* returns at once */

  double gradient = 0, backward, losses[TOKENS];
  for (int m = 0; m < MICROBATCHES; m++) {
    for (int t = 0; t < TOKENS; t++) losses[t] = w * data[m][t]; /* forward; the counts are summed meanwhile */
    tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = 1, .cols = TOKENS};
    loss.losses = (tokavg_array_t){.data = losses, .dtype = TOKAVG_DTYPE_F64};
    loss.labels = &labels[m];
    loss.backward_out = &backward;
    CHECK(ctx, tokavg_loss(ctx, step, &loss, NULL)); /* backward is the loss to call backward on */
    gradient += backward / w;
  }
  MPI_Allreduce(MPI_IN_PLACE, &gradient, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  gradient /= ranks; /* this trainer averages gradients, as DDP does: TOKAVG_GRADIENT_MEAN */
  tokavg_result_t result = {.struct_size = sizeof result};
  CHECK(ctx, tokavg_flush(ctx, NULL)); /* to read the mean loss now; else the next reduce brings it */
  CHECK(ctx, tokavg_wait(ctx, step, TOKAVG_WAIT_LOSS, -1, &result));
  double sum = 0, tokens = 0; /* one process that has all the data */
  for (int i = 0; i < ranks * MICROBATCHES * TOKENS; i++) {
    const int32_t y = label(i / TOKENS / MICROBATCHES, i / TOKENS % MICROBATCHES, i % TOKENS);
    if (y != -100) sum += y, tokens++;
  }
  check_number("mean loss", result.mean_loss[0], w * sum / tokens);
  check_number("gradient", gradient, sum / tokens);
  CHECK(ctx, tokavg_finalize(ctx));
  CHECK(ctx, tokavg_free(ctx));
  return MPI_Finalize();
}
