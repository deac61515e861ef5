/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_level single|funneled|serialized|multiple: steps under each thread level of MPI, with each way of progress.
 * The level must be the one that was asked for, tokavg_describe must say it and the progress that follows from it, the
 * numbers must be right, and MPI must be called by no thread that the level forbids.
 */
#define _GNU_SOURCE /* -std=c11 hides nanosleep */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tokavg/tokavg_mpi.h>

#include "mpi_calls.h"

enum { STEPS = 40 };

struct level {
  const char *name;
  int asked;
  const char *title;
};

static const struct level levels[] = {{"single", MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
                                      {"funneled", MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
                                      {"serialized", MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
                                      {"multiple", MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}};

static const struct level *level;
static int rank;
static int ranks;

static void check(bool fine, const char *what, int line, tokavg_context_t *ctx) {
  if (fine) return;
  char text[512] = "";
  tokavg_last_error(ctx, text, sizeof text, NULL);
  fprintf(stderr, "thread_level %s, rank %d, line %d: not %s (last error: %s)\n", level->name, rank, line, what, text);
  fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(ctx, condition) check((condition), #condition, __LINE__, ctx)

static tokavg_status_t open_context(int32_t progress, tokavg_context_t **ctx_out) {
  MPI_Comm comm = MPI_COMM_WORLD;
  tokavg_config_t config;
  tokavg_config_init(&config, (uint32_t)sizeof config);
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &comm;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.progress = progress;
  config.timeout_ms = 20000;
  config.flags = TOKAVG_CONFIG_NO_ENV;
  return tokavg_init(&config, ctx_out);
}

static void check_description(tokavg_context_t *ctx, bool threaded) {
  static char text[16384];
  char given[64];
  snprintf(given, sizeof given, "\"thread_level\": \"%s\"", level->title);
  CHECK(ctx, tokavg_describe(ctx, text, sizeof text, NULL) == TOKAVG_OK);
  CHECK(ctx, strstr(text, given) != NULL);
  CHECK(ctx, (strstr(text, "\"progress\": \"thread\"") != NULL) == threaded);
  CHECK(ctx, (strstr(text, "\"progress\": \"caller\"") != NULL) == !threaded);
  const char *any_thread = level->asked == MPI_THREAD_MULTIPLE ? "\"any_thread\": true" : "\"any_thread\": false";
  CHECK(ctx, strstr(text, any_thread) != NULL);
}

/* The forward pass: where no thread does it, one call now and then moves the sum on. */
static void compute(tokavg_context_t *ctx, bool threaded) {
  const struct timespec pause = {0, 200000};
  for (int i = 0; i < 5; i++) {
    nanosleep(&pause, NULL);
    if (!threaded) CHECK(ctx, tokavg_progress(ctx) == TOKAVG_OK);
  }
}

static int64_t tokens_of(int of_rank, int step) { return 3 * (int64_t)of_rank + step + 1; }

static tokavg_ticket_t take_step(tokavg_context_t *ctx, int step, bool threaded) {
  tokavg_ticket_t ticket = 0;
  tokavg_result_t result = {.struct_size = sizeof result};
  tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_SUM, .rows = 1, .cols = 1, .tokens = -1};
  double sum = 0.25 * (rank + 1) * (double)tokens_of(rank, step);
  double backward = 0;
  int64_t tokens = 0;
  for (int r = 0; r < ranks; r++) tokens += tokens_of(r, step);
  CHECK(ctx, tokavg_count_add(ctx, 0, tokens_of(rank, step), 0, 1) == TOKAVG_OK);
  CHECK(ctx, tokavg_reduce(ctx, NULL, NULL, &ticket) == TOKAVG_OK);
  compute(ctx, threaded);
  loss.losses = (tokavg_array_t){.data = &sum, .dtype = TOKAVG_DTYPE_F64};
  loss.backward_out = &backward;
  CHECK(ctx, tokavg_loss(ctx, ticket, &loss, NULL) == TOKAVG_OK);
  CHECK(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, &result) == TOKAVG_OK);
  CHECK(ctx, result.tokens[0] == tokens);
  CHECK(ctx, result.factor[0] == (double)ranks / (double)tokens);
  CHECK(ctx, backward == sum * result.factor[0]);
  return ticket;
}

static void check_mean_loss(tokavg_context_t *ctx, tokavg_ticket_t ticket, int step) {
  tokavg_result_t result = {.struct_size = sizeof result};
  double sum = 0;
  double tokens = 0;
  for (int r = 0; r < ranks; r++) {
    sum += 0.25 * (r + 1) * (double)tokens_of(r, step);
    tokens += (double)tokens_of(r, step);
  }
  CHECK(ctx, tokavg_flush(ctx, NULL) == TOKAVG_OK);
  CHECK(ctx, tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, &result) == TOKAVG_OK);
  CHECK(ctx, result.mean_loss[0] == sum / tokens);
}

/* progress: AUTO, CALLER, or THREAD, which only MPI_THREAD_MULTIPLE allows. */
static void run(int32_t progress) {
  const bool multiple = level->asked == MPI_THREAD_MULTIPLE;
  const bool threaded = multiple && progress != TOKAVG_PROGRESS_CALLER;
  tokavg_context_t *ctx = NULL;
  tokavg_ticket_t last = 0;
  mpi_calls_reset();
  if (progress == TOKAVG_PROGRESS_THREAD && !multiple) {
    char text[512] = "";
    CHECK(NULL, open_context(progress, &ctx) == TOKAVG_ERR_UNSUPPORTED && ctx == NULL);
    tokavg_last_error(NULL, text, sizeof text, NULL);
    CHECK(NULL, strstr(text, level->title) != NULL && strstr(text, "MPI_THREAD_MULTIPLE") != NULL);
    return;
  }
  CHECK(NULL, open_context(progress, &ctx) == TOKAVG_OK);
  check_description(ctx, threaded);
  for (int step = 0; step < STEPS; step++) last = take_step(ctx, step, threaded);
  check_mean_loss(ctx, last, STEPS - 1);
  struct mpi_calls calls = mpi_calls_seen();
  CHECK(ctx, calls.own > 0); /* else the program sees no calls at all */
  CHECK(ctx, threaded ? calls.others > 0 : calls.others == 0);
  CHECK(ctx, multiple || calls.overlaps == 0);
  CHECK(ctx, tokavg_finalize(ctx) == TOKAVG_OK);
  CHECK(NULL, tokavg_free(ctx) == TOKAVG_OK);
  if (rank == 0) {
    printf("thread_level: %s, progress %d: %d steps, MPI called %ld times by the caller, %ld times by a thread\n",
           level->title, progress, STEPS, calls.own, calls.others);
  }
}

static void *run_all(void *unused) {
  run(TOKAVG_PROGRESS_AUTO);
  run(TOKAVG_PROGRESS_CALLER);
  run(TOKAVG_PROGRESS_THREAD);
  return unused;
}

int main(int argc, char **argv) {
  int given = -1;
  int queried = -1;
  for (size_t i = 0; argc == 2 && i < sizeof levels / sizeof *levels; i++) {
    if (strcmp(argv[1], levels[i].name) == 0) level = &levels[i];
  }
  if (level == NULL) {
    fprintf(stderr, "usage: %s single|funneled|serialized|multiple\n", argv[0]);
    return 2;
  }
  MPI_Init_thread(&argc, &argv, level->asked, &given);
  MPI_Query_thread(&queried);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  /* A higher level is allowed (MPI 3.1, 12.4.3), but would leave this one untested. */
  CHECK(NULL, given == level->asked && queried == given);
  if (level->asked >= MPI_THREAD_SERIALIZED) {
    /* What these two levels allow: a thread that is not the one of MPI_Init_thread, which does nothing meanwhile. */
    pthread_t thread;
    CHECK(NULL, pthread_create(&thread, NULL, run_all, NULL) == 0);
    pthread_join(thread, NULL);
  } else {
    run_all(NULL);
  }
  return MPI_Finalize();
}
