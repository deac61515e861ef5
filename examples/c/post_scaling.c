/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling after backward: data streams in, nobody knows how much is left, and the gradients are scaled at the end.
   mpicc post_scaling.c -ltokavg -lm -o post_scaling; mpiexec -n 4 ./post_scaling */
#include <tokavg/tokavg_mpi.h>

#include "check.h"

enum { LONGEST = 8 };
/* Rank r finds r microbatches of 1, 2, ... tokens; rank 0 finds none and takes part all the same. */
static int next_microbatch(int rank, int m, int32_t *labels) {
  if (m >= rank) return 0;
  for (int t = 0; t < LONGEST; t++) labels[t] = t <= m % LONGEST ? 1 + rank + t : -100;
  return 1;
}
/* A model of one weight w: the loss of a token is w * label, so that its slope is the label. */
static const double w = 0.5;

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tokavg_context_t *ctx;
  CHECK(NULL, tokavg_init_mpi(MPI_COMM_WORLD, TOKAVG_GRADIENT_SUM, &ctx));

  int32_t data[LONGEST];
  double gradient = 0;
  for (int m = 0; next_microbatch(rank, m, data); m++) {
    tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = 1, .cols = LONGEST};
    labels.labels = (tokavg_array_t){.data = data, .dtype = TOKAVG_DTYPE_I32};
    CHECK(ctx, tokavg_count(ctx, &labels, NULL));
    double sum = 0; /* forward and backward of the sum: nothing is divided yet */
    for (int t = 0; t < LONGEST; t++) sum += data[t] == -100 ? 0 : w * data[t];
    gradient += sum / w;
    tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_SUM, .tokens = 1 + m % LONGEST};
    loss.losses = (tokavg_array_t){.data = &sum, .dtype = TOKAVG_DTYPE_F64};
    CHECK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL));
  }
  tokavg_ticket_t step;
  CHECK(ctx, tokavg_reduce(ctx, NULL, NULL, &step)); /* the counts are summed while the gradients are */
  MPI_Allreduce(MPI_IN_PLACE, &gradient, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  const tokavg_scale_item_t item = {.data = &gradient, .count = 1, .dtype = TOKAVG_DTYPE_F64};
  const tokavg_scale_t scale = {(uint32_t)sizeof scale, sizeof item, &item, 1, 0, TOKAVG_FACTOR_SCALE, 0, NULL};
  CHECK(ctx, tokavg_scale(ctx, step, &scale, NULL)); /* before clipping and the optimiser */

  tokavg_result_t result = {.struct_size = sizeof result};
  CHECK(ctx, tokavg_wait(ctx, step, TOKAVG_WAIT_LOSS, -1, &result));
  double sum = 0, tokens = 0; /* one process that has all the data */
  for (int r = 0; r < ranks; r++) {
    for (int m = 0; next_microbatch(r, m, data); m++) {
      for (int t = 0; t <= m % LONGEST; t++) sum += data[t], tokens++;
    }
  }
  check_number("mean loss", result.mean_loss[0], tokens > 0 ? w * sum / tokens : 0);
  check_number("gradient", gradient, tokens > 0 ? sum / tokens : 0);
  CHECK(ctx, tokavg_finalize(ctx));
  CHECK(ctx, tokavg_free(ctx));
  return MPI_Finalize();
}
