/* SPDX-License-Identifier: Apache-2.0 */
/* Two contexts, waited for in opposite orders, where MPI has no thread to move them on: a wait in one must move the
 * other on too, or each rank waits for a round that the other has begun. */
#include <stdio.h>
#include <tokavg/tokavg_mpi.h>

static int check(tokavg_context_t *ctx, tokavg_status_t status, const char *call) {
  char text[512] = "";
  if (status == TOKAVG_OK) return 0;
  tokavg_last_error(ctx, text, sizeof text, NULL);
  fprintf(stderr, "%s: %s: %s\n", call, tokavg_status_name(status), text);
  return 1;
}

static tokavg_context_t *open_context(void) {
  MPI_Comm comm = MPI_COMM_WORLD;
  tokavg_config_t config;
  tokavg_context_t *ctx = NULL;
  tokavg_config_init(&config, (uint32_t)sizeof config);
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &comm;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.timeout_ms = 10000;
  if (check(NULL, tokavg_init(&config, &ctx), "tokavg_init")) MPI_Abort(MPI_COMM_WORLD, 1);
  return ctx;
}

static int wait_for(tokavg_context_t *ctx, tokavg_ticket_t ticket, int64_t tokens) {
  tokavg_result_t result = {.struct_size = sizeof result};
  int failed = check(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, &result), "tokavg_wait");
  return failed || result.tokens[0] != tokens;
}

static int step(tokavg_context_t *first, tokavg_context_t *second, int rank, int ranks) {
  tokavg_ticket_t a = 0;
  tokavg_ticket_t b = 0;
  int failed = check(first, tokavg_count_add(first, 0, 1, 0, 1), "count");
  failed |= check(second, tokavg_count_add(second, 0, 2, 0, 1), "count");
  failed |= check(first, tokavg_reduce(first, NULL, NULL, &a), "reduce");
  if (rank == 0) failed |= wait_for(first, a, ranks);
  failed |= check(second, tokavg_reduce(second, NULL, NULL, &b), "reduce");
  failed |= wait_for(second, b, 2 * (int64_t)ranks);
  if (rank != 0) failed |= wait_for(first, a, ranks);
  return failed;
}

int main(int argc, char **argv) {
  int rank;
  int ranks;
  int failed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  tokavg_context_t *first = open_context();
  tokavg_context_t *second = open_context();
  for (int i = 0; i < 20 && !failed; i++) failed = step(first, second, rank, ranks);
  tokavg_free(first);
  tokavg_free(second);
  if (failed) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  return 0;
}
