/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts that end where nobody looks: freed by another thread, freed by an exit handler, left to the end of the
 * process, with threads of their own. Each in a child, whose exit status tells. */
#define _GNU_SOURCE
#include "support/unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/api.h"

static tokavg_context_t *ctx; /* of the child */

static tokavg_context_t *open_with_threads(void) {
  tokavg_config_t config = api_config();
  config.host_threads = 3;
  tokavg_context_t *made = NULL;
  tokavg_ticket_t ticket = 0;
  if (tokavg_init(&config, &made) != TOKAVG_OK) _exit(90);
  if (tokavg_count_add(made, 0, 4, 0, 1) != TOKAVG_OK) _exit(91);
  if (tokavg_reduce(made, NULL, NULL, &ticket) != TOKAVG_OK) _exit(92);
  return made;
}

static void *exit_here(void *argument) {
  (void)argument;
  exit(0);
}

static void *free_it(void *argument) {
  (void)argument;
  return tokavg_free(ctx) == TOKAVG_OK ? NULL : &ctx;
}

static int by_another_thread(void) {
  pthread_t thread;
  void *failed = NULL;
  ctx = open_with_threads();
  if (pthread_create(&thread, NULL, free_it, NULL) != 0 || pthread_join(thread, &failed) != 0) return 1;
  if (failed != NULL) return 2;
  return tokavg_free(ctx) == TOKAVG_ERR_HANDLE ? 0 : 3;
}

static void at_exit(void) {
  if (tokavg_free(ctx) != TOKAVG_OK) _exit(3);
}

static int by_an_exit_handler(void) {
  ctx = open_with_threads();
  if (atexit(at_exit) != 0) return 1;
  exit(0);
}

static int by_the_end_of_the_process(void) {
  ctx = open_with_threads();
  exit(0);
}

/* While the process ends, and its other threads with it. */
static int by_an_exit_of_another_thread(void) {
  pthread_t thread;
  ctx = open_with_threads();
  if (pthread_create(&thread, NULL, exit_here, NULL) != 0) return 1;
  pause();
  return 2;
}

static void ends(int (*body)(void)) {
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(body());
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void another_thread(void **state) {
  (void)state;
  ends(by_another_thread);
}
static void exit_handler(void **state) {
  (void)state;
  ends(by_an_exit_handler);
}
static void end_of_the_process(void **state) {
  (void)state;
  ends(by_the_end_of_the_process);
}
static void exit_of_another_thread(void **state) {
  (void)state;
  ends(by_an_exit_of_another_thread);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_thread),
      cmocka_unit_test(exit_handler),
      cmocka_unit_test(end_of_the_process),
      cmocka_unit_test(exit_of_another_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
