/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drives the table of an MPI plugin directly: plugin_check PLUGIN MODE RESULTS [VICTIMS [PROGRESS]].
 * Where ranks die or fail, each one writes RESULTS.<rank>, one line "status list milliseconds". The first survivor
 * judges by these files and prints "plugin_check: pass": the launcher's exit status says nothing about survivors.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tokavg/transport_plugin.h"

enum { MAX_WORDS = 1024, WINDOW = 8, DEADLINE_MS = 1000 };

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const double kSlowness = 3;
#else
static const double kSlowness = 1;
#endif

static tokavg_transport_open_t open_plugin;
static tokavg_transport_t table = {.struct_size = sizeof(tokavg_transport_t)};
static const char *mode;
static const char *results;
static const char *victims = "-";
static int32_t progress = TOKAVG_PROGRESS_AUTO;
static int rank;
static int ranks;

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void sleep_ms(int duration) {
  struct timespec time = {duration / 1000, (duration % 1000) * 1000000L};
  nanosleep(&time, NULL);
}

static void check(bool fine, const char *what, int line) {
  if (!fine) {
    fprintf(stderr, "rank %d, mode %s, line %d: not %s\n", rank, mode, line, what);
    fflush(stderr);
    _exit(1);
  }
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static bool is_victim(int candidate) {
  const char *at = victims;
  for (;;) {
    char *end = NULL;
    long value = strtol(at, &end, 10);
    if (end == at) {
      return false;
    }
    if (value == candidate) {
      return true;
    }
    at = *end == ',' ? end + 1 : end;
  }
}

static void result_path(char *path, size_t capacity, int of_rank) {
  snprintf(path, capacity, "%s.%d", results, of_rank);
}

static void write_result(tokavg_status_t status, const int32_t *late, int32_t n_late, double elapsed_ms) {
  char path[512];
  char temporary[520];
  result_path(path, sizeof path, rank);
  snprintf(temporary, sizeof temporary, "%s.tmp", path);
  FILE *file = fopen(temporary, "w");
  CHECK(file != NULL);
  fprintf(file, "%d ", status);
  for (int32_t i = 0; i < n_late; i++) {
    fprintf(file, "%s%d", i > 0 ? "," : "", late[i]);
  }
  fprintf(file, "%s %.1f\n", n_late > 0 ? "" : "-", elapsed_ms);
  fclose(file);
  CHECK(rename(temporary, path) == 0);
}

/* Every rank must say the same: this status, these late ranks, within this time. */
static void judge(int of_rank, tokavg_status_t expected, double limit_ms) {
  char path[512];
  char list[256] = "";
  int status = 0;
  double elapsed_ms = 0;
  result_path(path, sizeof path, of_rank);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  CHECK(fscanf(file, "%d %255s %lf", &status, list, &elapsed_ms) == 3);
  fclose(file);
  if (status != expected || strcmp(list, victims) != 0 || elapsed_ms > limit_ms * kSlowness) {
    fprintf(stderr, "rank %d: status %d, late %s, %.1f ms\n", of_rank, status, list, elapsed_ms);
  }
  CHECK(status == expected);
  CHECK(strcmp(list, victims) == 0);
  CHECK(elapsed_ms <= limit_ms * kSlowness);
}

/* MPI_Finalize would wait for the dead. A rank that leaves early takes the job down, so all wait for all files. */
static void leave_together(bool victims_too, bool all_live, tokavg_status_t expected, double limit_ms) {
  double limit = now_ms() + 20000;
  int first = -1;
  for (int other = 0; other < ranks; other++) {
    char path[512];
    bool counts = victims_too || !is_victim(other);
    result_path(path, sizeof path, other);
    while (counts && access(path, R_OK) != 0 && now_ms() < limit) {
      sleep_ms(5);
    }
    first = counts && first < 0 ? other : first;
  }
  for (int other = 0; rank == first && other < ranks; other++) {
    if (victims_too || !is_victim(other)) {
      judge(other, expected, limit_ms);
    }
  }
  if (rank == first) {
    printf("plugin_check: pass\n");
    fflush(stdout);
  }
  if (all_live) {
    MPI_Finalize();
    exit(0);
  }
  sleep_ms(200);
  _exit(0);
}

static tokavg_transport_options_t options_for(MPI_Comm *comm) {
  return (tokavg_transport_options_t){.struct_size = sizeof(tokavg_transport_options_t),
                                      .comm_kind = TOKAVG_COMM_MPI,
                                      .comm = comm,
                                      .progress = progress,
                                      .timeout_ms = 20000,
                                      .max_words = MAX_WORDS};
}

static void open_table(void) {
  char text[512] = "";
  MPI_Comm comm = MPI_COMM_WORLD;
  tokavg_transport_options_t options = options_for(&comm);
  tokavg_status_t status = open_plugin(&options, &table, text, sizeof text);
  if (status != TOKAVG_OK) {
    fprintf(stderr, "rank %d: open gives %d: %s\n", rank, status, text);
  }
  CHECK(status == TOKAVG_OK);
  CHECK(table.rank == rank && table.ranks == ranks);
}

/* What the core does: test until the deadline, then ask who is late and give the sum up. */
static tokavg_status_t wait_for(void *request, int deadline_ms, int32_t *late, int32_t *n_late) {
  double limit = now_ms() + deadline_ms;
  for (int turn = 0;; turn++) {
    int32_t done = 0;
    tokavg_status_t status = table.test(table.user, request, &done);
    if (status == TOKAVG_ERR_TIMEOUT) {
      CHECK(table.late_ranks(table.user, request, late, 64, n_late) == TOKAVG_OK);
    }
    if (status != TOKAVG_OK || done) {
      return status;
    }
    if (now_ms() > limit) {
      CHECK(table.late_ranks(table.user, request, late, 64, n_late) == TOKAVG_OK);
      CHECK(table.cancel(table.user, request) == TOKAVG_OK);
      return TOKAVG_ERR_TIMEOUT;
    }
    if (turn > 200) {
      sleep_ms(1);
    }
  }
}

static uint64_t word_of(int step, int64_t index, int of_rank) {
  return (uint64_t)step * 0x9e3779b97f4a7c15U + (uint64_t)index * 1000003U +
         (uint64_t)(of_rank + 1) * 0xc2b2ae3d27d4eb4fU;
}

static int64_t words_in(int step) { return 1 + (step * 37) % MAX_WORDS; }

static void check_sum(int step, const uint64_t *words) {
  for (int64_t i = 0; i < words_in(step); i++) {
    uint64_t expected = 0;
    for (int other = 0; other < ranks; other++) {
      expected += word_of(step, i, other);
    }
    CHECK(words[i] == expected);
  }
}

/* Up to WINDOW sums in flight, random delays. */
static void run_sums(int steps) {
  static uint64_t words[WINDOW][MAX_WORDS];
  void *requests[WINDOW] = {NULL};
  int32_t late[64];
  int32_t n_late = 0;
  unsigned seed = (unsigned)rank * 7919U + 1U;
  for (int step = 0; step < steps + WINDOW; step++) {
    int slot = step % WINDOW;
    if (step >= WINDOW) {
      CHECK(wait_for(requests[slot], 30000, late, &n_late) == TOKAVG_OK);
      check_sum(step - WINDOW, words[slot]);
    }
    if (step < steps) {
      for (int64_t i = 0; i < words_in(step); i++) {
        words[slot][i] = word_of(step, i, rank);
      }
      CHECK(table.start(table.user, words[slot], words_in(step), &requests[slot]) == TOKAVG_OK);
    }
    if (rand_r(&seed) % 16 == 0) {
      sleep_ms(rand_r(&seed) % 3);
    }
  }
}

static void mode_ok(void) {
  char text[1024];
  open_table();
  CHECK(table.describe(table.user, NULL, text, sizeof text) == TOKAVG_OK);
  if (rank == 0) {
    printf("%s\n", text);
  }
  run_sums(400);
  table.close(table.user, 1);
  MPI_Finalize();
}

static void mode_cost(void) {
  enum { STEPS = 300 };
  static double start_us[STEPS];
  int32_t late[64];
  int32_t n_late = 0;
  double sum_start = 0;
  double most = 0;
  double exposed = 0;
  open_table();
  for (int step = 0; step < STEPS; step++) {
    uint64_t words[32] = {1};
    void *request = NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = now_ms();
    CHECK(table.start(table.user, words, 32, &request) == TOKAVG_OK);
    start_us[step] = (now_ms() - begin) * 1e3;
    sleep_ms(5);
    begin = now_ms();
    CHECK(wait_for(request, 5000, late, &n_late) == TOKAVG_OK);
    exposed += (now_ms() - begin) * 1e3;
    CHECK(words[0] == (uint64_t)ranks);
    sum_start += start_us[step];
    most = start_us[step] > most ? start_us[step] : most;
  }
  printf("rank %d: start mean %.2f us, most %.1f us; wait after 5 ms mean %.2f us\n", rank, sum_start / STEPS, most,
         exposed / STEPS);
  table.close(table.user, 1);
  MPI_Finalize();
}

/* Another process lets this one go on, 2 s later. */
static void stop_for_a_while(void) {
  pid_t self = getpid();
  if (fork() == 0) {
    sleep_ms(2 * DEADLINE_MS);
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

/* late: never posts the sum, comes 1.7 s late. stop: does not even run for 2 s. kill: is gone. */
static void be_victim(uint64_t *words) {
  void *request = NULL;
  int32_t late[64];
  int32_t n_late = 0;
  if (strcmp(mode, "stop") == 0) {
    stop_for_a_while();
  } else if (strcmp(mode, "late") == 0) {
    sleep_ms(DEADLINE_MS + 700);
  } else {
    raise(SIGKILL);
  }
  double begin = now_ms();
  tokavg_status_t status = table.start(table.user, words, 1, &request);
  double elapsed = now_ms() - begin;
  if (status == TOKAVG_ERR_TIMEOUT) {
    CHECK(table.late_ranks(table.user, NULL, late, 64, &n_late) == TOKAVG_OK);
  }
  write_result(status, late, n_late, elapsed);
  table.close(table.user, 0);
  leave_together(true, true, TOKAVG_ERR_TIMEOUT, DEADLINE_MS + 100);
}

static void mode_dead(bool busy) {
  static uint64_t words[1] = {1};
  int32_t late[64];
  int32_t n_late = 0;
  void *request = NULL;
  open_table();
  run_sums(20);
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_victim(rank)) {
    be_victim(words);
  }
  double begin = now_ms();
  tokavg_status_t status = table.start(table.user, words, 1, &request);
  if (busy && rank % 2 == 1) {
    sleep_ms(DEADLINE_MS + 300); /* computes: only the thread can join */
    begin = now_ms() - DEADLINE_MS;
  }
  if (status == TOKAVG_OK) {
    status = wait_for(request, DEADLINE_MS, late, &n_late);
  }
  double elapsed = now_ms() - begin;
  CHECK(table.start(table.user, words, 1, &request) == status);
  table.close(table.user, 0);
  write_result(status, late, n_late, elapsed);
  bool all_live = strcmp(mode, "late") == 0 || strcmp(mode, "stop") == 0;
  leave_together(all_live, all_live, TOKAVG_ERR_TIMEOUT, DEADLINE_MS + 100);
}

static void mode_abort(void) {
  uint64_t words[1] = {1};
  int32_t late[64];
  int32_t n_late = 0;
  void *request = NULL;
  open_table();
  run_sums(20);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = now_ms();
  if (rank == ranks / 2) {
    sleep_ms(300);
    CHECK(table.abort(table.user) == TOKAVG_OK);
  } else {
    CHECK(table.start(table.user, words, 1, &request) == TOKAVG_OK);
    CHECK(wait_for(request, 20000, late, &n_late) == TOKAVG_ERR_ABORTED);
    CHECK(now_ms() - begin < 400 * kSlowness);
  }
  CHECK(table.start(table.user, words, 1, &request) == TOKAVG_ERR_ABORTED);
  table.close(table.user, 0);
  MPI_Finalize();
}

static void mode_plain(void) {
  char text[512] = "";
  MPI_Comm comm = MPI_COMM_WORLD;
  progress = TOKAVG_PROGRESS_THREAD;
  tokavg_transport_options_t options = options_for(&comm);
  CHECK(open_plugin(&options, &table, text, sizeof text) == TOKAVG_ERR_UNSUPPORTED);
  CHECK(strstr(text, "MPI_THREAD_MULTIPLE") != NULL);
  progress = TOKAVG_PROGRESS_AUTO;
  open_table();
  CHECK(table.capabilities == 0);
  run_sums(200);
  table.close(table.user, 1);
  MPI_Finalize();
}

/* The last rank comes when the others have given up, and gives up too. */
static void mode_init_late(void) {
  char text[512] = "";
  MPI_Comm comm = MPI_COMM_WORLD;
  tokavg_transport_options_t options = options_for(&comm);
  options.timeout_ms = 500;
  double begin = now_ms();
  if (rank == ranks - 1) {
    write_result(TOKAVG_ERR_TIMEOUT, NULL, 0, 500.0);
    sleep_ms(1500);
  } else {
    tokavg_status_t status = open_plugin(&options, &table, text, sizeof text);
    write_result(status, NULL, 0, now_ms() - begin);
    CHECK(strstr(text, "500 ms") != NULL);
  }
  leave_together(true, false, TOKAVG_ERR_TIMEOUT, 600);
}

static void mode_finalise_first(void) {
  uint64_t words[1] = {1};
  void *unmatched = NULL;
  void *request = NULL;
  int32_t done = 0;
  char text[512] = "";
  open_table();
  run_sums(20);
  if (rank == 0) { /* the others never post it */
    CHECK(table.start(table.user, words, 1, &unmatched) == TOKAVG_OK);
  }
  MPI_Finalize();
  if (rank == 0) {
    tokavg_status_t status = table.test(table.user, unmatched, &done);
    CHECK(ranks == 1 ? status == TOKAVG_OK && done == 1 : status == TOKAVG_ERR_TRANSPORT);
    CHECK(table.describe(table.user, unmatched, text, sizeof text) == TOKAVG_OK);
    CHECK(strstr(text, "MPI was finalised before the context was") != NULL);
  }
  CHECK(table.start(table.user, words, 1, &request) == TOKAVG_ERR_TRANSPORT && request == NULL);
  CHECK(table.abort(table.user) == TOKAVG_OK);
  table.close(table.user, rank % 2);
}

static void mode_reopen(void) {
  for (int turn = 0; turn < 100; turn++) {
    open_table();
    run_sums(3);
    table.close(table.user, turn % 3 == 0);
  }
  open_table();
  tokavg_transport_t first = table;
  open_table();
  run_sums(20);
  table.close(table.user, 0);
  table = first;
  run_sums(20);
  table.close(table.user, 0);
  MPI_Finalize();
}

static void mode_fork(void) {
  open_table();
  run_sums(5);
  pid_t child = fork();
  if (child == 0) {
    uint64_t words[1] = {1};
    void *request = NULL;
    char text[512] = "";
    int32_t count = 0;
    tokavg_transport_t other = {.struct_size = sizeof other};
    MPI_Comm comm = MPI_COMM_WORLD;
    tokavg_transport_options_t options = options_for(&comm);
    bool fine = table.start(table.user, words, 1, &request) == TOKAVG_ERR_STATE &&
                table.late_ranks(table.user, NULL, NULL, 0, &count) == TOKAVG_ERR_STATE &&
                table.abort(table.user) == TOKAVG_ERR_STATE &&
                table.describe(table.user, NULL, text, sizeof text) == TOKAVG_OK && strstr(text, "forked") != NULL &&
                open_plugin(&options, &other, text, sizeof text) == TOKAVG_ERR_STATE;
    table.close(table.user, 0);
    _exit(fine ? 0 : 1);
  }
  int state = 1;
  CHECK(waitpid(child, &state, 0) == child && state == 0);
  run_sums(5);
  table.close(table.user, 1);
  MPI_Finalize();
}

/* What one rank can see alone is refused at once. */
static void refused(MPI_Comm *comm, tokavg_status_t expected, const char *part) {
  char text[512] = "";
  tokavg_transport_options_t options = options_for(comm);
  CHECK(open_plugin(&options, &table, text, sizeof text) == expected);
  CHECK(strstr(text, part) != NULL);
}

/* Libraries of other versions: a struct that is too short, one that has more than we know, and room for more than we
 * fill. */
static void other_versions(void) {
  char text[512] = "";
  MPI_Comm comm = MPI_COMM_WORLD;
  struct {
    tokavg_transport_options_t known;
    uint64_t newer;
  } options = {options_for(&comm), 0};
  struct {
    tokavg_transport_t known;
    uint64_t newer[3];
  } room = {.known = {.struct_size = sizeof(tokavg_transport_t) - 1}, .newer = {7, 8, 9}};
  CHECK(open_plugin(&options.known, &room.known, text, sizeof text) == TOKAVG_ERR_ARGUMENT);
  CHECK(strstr(text, "table_out.struct_size is 87; set it to sizeof") != NULL);
  room.known.struct_size = sizeof room - sizeof(uint64_t);
  options.known.struct_size = sizeof options.known - 1;
  CHECK(open_plugin(&options.known, &room.known, text, sizeof text) == TOKAVG_ERR_ARGUMENT);
  CHECK(strstr(text, "options.struct_size is 39; set it to sizeof") != NULL);
  options.known.struct_size = sizeof options;
  options.newer = UINT64_C(1) << 63;
  CHECK(open_plugin(&options.known, &room.known, text, sizeof text) == TOKAVG_ERR_UNSUPPORTED);
  CHECK(strstr(text, "options has byte 47 set") != NULL);
  CHECK(room.known.start == NULL);
  options.newer = 0;
  CHECK(open_plugin(&options.known, &room.known, text, sizeof text) == TOKAVG_OK);
  CHECK(room.known.struct_size == sizeof room.known && room.known.rank == rank);
  CHECK(room.newer[0] == 7 && room.newer[1] == 8 && room.newer[2] == 9);
  room.known.close(room.known.user, 1);
}

static void mode_refuse(int *argc, char ***argv) {
  MPI_Comm null = MPI_COMM_NULL;
  MPI_Comm half;
  MPI_Comm inter;
  int provided;
  refused(&null, TOKAVG_ERR_STATE, "not initialised");
  MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  refused(&null, TOKAVG_ERR_CONFIG, "MPI_COMM_NULL");
  refused(NULL, TOKAVG_ERR_CONFIG, "NULL");
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
  refused(&inter, TOKAVG_ERR_CONFIG, "intercommunicator");
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  other_versions();
  MPI_Finalize();
  refused(&null, TOKAVG_ERR_STATE, "finalised");
}

static void run_mode(void) {
  if (strcmp(mode, "ok") == 0) {
    mode_ok();
  } else if (strcmp(mode, "cost") == 0) {
    mode_cost();
  } else if (strcmp(mode, "abort") == 0) {
    mode_abort();
  } else if (strcmp(mode, "plain") == 0) {
    mode_plain();
  } else if (strcmp(mode, "init-late") == 0) {
    mode_init_late();
  } else if (strcmp(mode, "finalise-first") == 0) {
    mode_finalise_first();
  } else if (strcmp(mode, "reopen") == 0) {
    mode_reopen();
  } else if (strcmp(mode, "fork") == 0) {
    mode_fork();
  } else if (strcmp(mode, "busy") == 0) {
    mode_dead(true);
  } else {
    mode_dead(false);
  }
}

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: plugin_check PLUGIN MODE RESULTS [VICTIMS [thread|caller]]\n");
    return 2;
  }
  mode = argv[2];
  results = argv[3];
  victims = argc > 4 ? argv[4] : "-";
  if (argc > 5) {
    progress = strcmp(argv[5], "thread") == 0 ? TOKAVG_PROGRESS_THREAD : TOKAVG_PROGRESS_CALLER;
  }
  /* The rank is not known before MPI_Init, which is also what makes sure that no rank sees an old file. */
  const char *rank_text = getenv("OMPI_COMM_WORLD_RANK");
  rank_text = rank_text != NULL ? rank_text : getenv("PMI_RANK");
  if (rank_text != NULL) {
    char path[512];
    result_path(path, sizeof path, atoi(rank_text));
    unlink(path);
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  *(void **)&open_plugin = dlsym(library, "tokavg_transport_open");
  CHECK(open_plugin != NULL);
  if (strcmp(mode, "refuse") == 0) {
    mode_refuse(&argc, &argv);
    if (rank == 0) {
      printf("plugin_check: pass\n");
    }
    return 0;
  }
  int provided = MPI_THREAD_SINGLE;
  if (strcmp(mode, "plain") == 0) {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run_mode();
  if (rank == 0) {
    printf("plugin_check: pass\n");
  }
  return 0;
}
