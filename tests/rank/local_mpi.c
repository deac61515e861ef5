/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local_mpi TOKAVG MPI... -- run | refuse STATUS TEXT...
 * A host that is linked neither to MPI nor to tokavg, as Python and Julia are: it loads the MPI libraries (sonames) and
 * libtokavg with RTLD_LOCAL, so that nobody sees their symbols unasked. `run` takes a few steps on the communicator of
 * the first MPI; `refuse` expects tokavg_init to fail with a status and a text that holds all of TEXT.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokavg/tokavg.h"

enum { ROUNDS = 5 };

static void *library;

static void die(const char *what, const char *why) {
  fprintf(stderr, "local_mpi: %s: %s\n", what, why != NULL ? why : "?");
  exit(1);
}

static void *load(const char *name) {
  void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) die(name, dlerror());
  return handle;
}

/* A function from a library; ISO C has no cast from an object pointer, POSIX has this way. */
static void find(void *handle, const char *name, void *function_out) {
  void *symbol = dlsym(handle, name);
  if (symbol == NULL) die(name, dlerror());
  memcpy(function_out, &symbol, sizeof symbol);
}

/* MPI_COMM_WORLD without mpi.h: an address in Open MPI, a number in MPICH (and fixed by its binary interface). */
static const void *world_of(void *mpi) {
  static void *open_mpi_world;
  static const int mpich_world = 0x44000000;
  open_mpi_world = dlsym(mpi, "ompi_mpi_comm_world");
  return open_mpi_world != NULL ? (const void *)&open_mpi_world : &mpich_world;
}

static const char *last_text(tokavg_context_t *context) {
  static char text[4096];
  tokavg_status_t (*last_error)(tokavg_context_t *, char *, int64_t, int64_t *);
  find(library, "tokavg_last_error", &last_error);
  last_error(context, text, (int64_t)sizeof text, NULL);
  return text;
}

static tokavg_status_t init(const void *comm, tokavg_context_t **context_out) {
  tokavg_config_t config;
  tokavg_status_t (*config_init)(tokavg_config_t *, uint32_t);
  tokavg_status_t (*make)(const tokavg_config_t *, tokavg_context_t **);
  find(library, "tokavg_config_init", &config_init);
  find(library, "tokavg_init", &make);
  config_init(&config, (uint32_t)sizeof config);
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = comm;
  config.gradient_reduction = TOKAVG_GRADIENT_SUM;
  config.timeout_ms = 20000;
  return make(&config, context_out);
}

static void take_step(tokavg_context_t *context, int64_t tokens) {
  tokavg_status_t (*count_add)(tokavg_context_t *, int32_t, int64_t, double, int64_t);
  tokavg_status_t (*reduce)(tokavg_context_t *, const tokavg_reduce_t *, tokavg_stream_t, tokavg_ticket_t *);
  tokavg_status_t (*wait)(tokavg_context_t *, tokavg_ticket_t, int32_t, int64_t, tokavg_result_t *);
  tokavg_ticket_t ticket = 0;
  tokavg_result_t result = {0};
  find(library, "tokavg_count_add", &count_add);
  find(library, "tokavg_reduce", &reduce);
  find(library, "tokavg_wait", &wait);
  result.struct_size = (uint32_t)sizeof result;
  if (count_add(context, 0, tokens, 0.0, 1) != TOKAVG_OK || reduce(context, NULL, NULL, &ticket) != TOKAVG_OK ||
      wait(context, ticket, TOKAVG_WAIT_COUNT, -1, &result) != TOKAVG_OK) {
    die("step", last_text(context));
  }
  if (result.tokens[0] != tokens * result.ranks || result.factor[0] != 1.0 / (double)(tokens * result.ranks)) {
    die("step", "wrong sum");
  }
}

static int run(void *mpi) {
  int (*mpi_init)(int *, char ***);
  int (*mpi_finalize)(void);
  tokavg_status_t (*finalize)(tokavg_context_t *);
  tokavg_status_t (*free_context)(tokavg_context_t *);
  tokavg_context_t *context = NULL;
  find(mpi, "MPI_Init", &mpi_init);
  find(mpi, "MPI_Finalize", &mpi_finalize);
  find(library, "tokavg_finalize", &finalize);
  find(library, "tokavg_free", &free_context);
  mpi_init(NULL, NULL);
  if (init(world_of(mpi), &context) != TOKAVG_OK) die("tokavg_init", last_text(NULL));
  for (int64_t round = 1; round <= ROUNDS; ++round) take_step(context, 10 * round);
  if (finalize(context) != TOKAVG_OK) die("tokavg_finalize", last_text(context));
  if (free_context(context) != TOKAVG_OK) die("tokavg_free", last_text(NULL));
  return mpi_finalize();
}

static int refuse(void *mpi, const char *status, char **texts) {
  const char *(*status_name)(tokavg_status_t);
  tokavg_context_t *context = NULL;
  find(library, "tokavg_status_name", &status_name);
  const char *got = status_name(init(world_of(mpi), &context));
  const char *text = last_text(NULL);
  printf("%s: %s\n", got, text);
  if (strcmp(got, status) != 0) die(got, "another status was expected");
  for (; *texts != NULL; ++texts) {
    if (strstr(text, *texts) == NULL) die(*texts, "is not in the text");
  }
  return 0;
}

int main(int argc, char **argv) {
  void *mpi = NULL;
  int at = 2;
  if (argc < 5) die("usage", "local_mpi TOKAVG MPI... -- run | refuse STATUS TEXT...");
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    void *handle = load(argv[at]);
    if (mpi == NULL) mpi = handle;
  }
  library = load(argv[1]);
  if (at + 1 < argc && strcmp(argv[at + 1], "run") == 0) return run(mpi);
  if (at + 2 < argc && strcmp(argv[at + 1], "refuse") == 0) return refuse(mpi, argv[at + 2], argv + at + 3);
  die("usage", "local_mpi TOKAVG MPI... -- run | refuse STATUS TEXT...");
  return 2;
}
