/* SPDX-License-Identifier: Apache-2.0 */
/* race: with ThreadSanitizer, and with what its settings leave out of MPI's own code, a race of ours must still be
 * found: here one that is planted, in a process whose progress thread and whose MPI are running. */
#include <pthread.h>
#include <stdio.h>
#include <tokavg/tokavg_mpi.h>

static int shared;

static void *count(void *argument) {
  (void)argument;
  for (int i = 0; i < 1000; i++) shared++;
  return NULL;
}

int main(int argc, char **argv) {
  int level;
  pthread_t other;
  tokavg_context_t *ctx = NULL;
  tokavg_ticket_t ticket = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (tokavg_init_mpi(MPI_COMM_WORLD, TOKAVG_GRADIENT_MEAN, &ctx) != TOKAVG_OK) return 1;
  if (pthread_create(&other, NULL, count, NULL) != 0) return 2;
  tokavg_reduce(ctx, NULL, NULL, &ticket);
  (void)count(NULL);
  pthread_join(other, NULL);
  tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, NULL);
  tokavg_free(ctx);
  MPI_Finalize();
  printf("race: %d, and nobody has noticed\n", shared);
  return 0;
}
