/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one background thread of the process. It exists because nonblocking sums do not advance without MPI calls:
 * with 10 ms of skew between four ranks a wait costs 6.8 ms without it and 1 to 2 us with it. It makes MPI calls and
 * touches memory, nothing else.
 *
 * Pure polling would take 7 % of the host from the application, so it polls 100 times, yields 100 times, then sleeps
 * from 20 us on in doubling steps: 0.1 ms a step. Without a sum it waits on a semaphore.
 */
#include "channel.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { SPINS = 100, YIELDS = 100 };

static const int64_t first_nap_ns = 20000;
static const int64_t longest_nap_ns = 200000;
/* A thread that polls faster makes MPICH's own calls slow: they contend for one lock. */
#ifdef MPICH_VERSION
static const int64_t shortest_cap_ns = 50000;
#else
static const int64_t shortest_cap_ns = 20000;
#endif

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t thread;
static bool running;
static atomic_bool stopping;
static atomic_bool asleep;
static sem_t doorbell;

static void wait_for_doorbell(void) {
  while (sem_wait(&doorbell) != 0 && errno == EINTR) {
  }
}

/* Whoever takes `asleep` away rings, exactly once: a post between the flag and the wait is not lost. */
static void sleep_until_woken(void) {
  atomic_store(&asleep, true);
  bool idle = atomic_load(&process.unfinished) == 0 && !atomic_load(&stopping);
  if (idle || !atomic_exchange(&asleep, false)) {
    wait_for_doorbell();
  }
}

void progress_wake(void) {
  atomic_fetch_add(&process.posts, 1);
  if (atomic_load(&asleep) && atomic_load(&process.unfinished) > 0 && atomic_exchange(&asleep, false)) {
    sem_post(&doorbell);
  }
}

/* A sum takes `rounds` naps longer, which must stay a small part of the time between two sums. */
static int64_t longest_nap(struct channel *channel) {
  int rounds = channel->rounds > 0 ? channel->rounds : 1;
  int64_t interval = atomic_load(&channel->interval_ns);
  int64_t cap = interval == 0 ? 5 * first_nap_ns : interval / ((int64_t)8 * rounds);
  cap = cap < shortest_cap_ns ? shortest_cap_ns : cap;
  return cap > longest_nap_ns ? longest_nap_ns : cap;
}

static bool advance_all(int64_t *cap_out) {
  bool moved = false;
  *cap_out = longest_nap_ns;
  process_lock();
  for (struct channel *channel = process.channels; channel != NULL; channel = channel->next) {
    if (channel->threaded) {
      int64_t cap = longest_nap(channel);
      *cap_out = cap < *cap_out ? cap : *cap_out;
      moved |= channel_advance(channel);
    }
  }
  process_unlock();
  return moved;
}

static void pause_between(int turn, int64_t *nap, int64_t cap) {
  if (turn < SPINS) {
    return;
  }
  if (turn < SPINS + YIELDS) {
    sched_yield();
    return;
  }
  *nap = *nap > cap ? cap : *nap;
  nap_ns(*nap);
  *nap *= 2;
}

static void *run(void *unused) {
#ifdef __linux__
  prctl(PR_SET_NAME, "tokavg-mpi");
  prctl(PR_SET_TIMERSLACK, 1UL); /* with the default slack a sleep of 1 us takes 68 us */
#endif
  int turn = 0;
  int64_t nap = first_nap_ns;
  long long posts = 0;
  while (!atomic_load(&stopping)) {
    if (atomic_load(&process.unfinished) == 0) {
      sleep_until_woken();
    }
    long long seen = atomic_load(&process.posts);
    if (seen != posts) {
      posts = seen;
      turn = 0;
      nap = first_nap_ns;
    }
    int64_t cap = longest_nap_ns;
    if (advance_all(&cap)) {
      nap = first_nap_ns;
    }
    pause_between(turn, &nap, cap);
    turn += turn < SPINS + YIELDS;
  }
  return unused;
}

/* Returns false where the system gives no thread. The application's signals are not this thread's business. */
bool progress_start(void) {
  pthread_mutex_lock(&start_lock);
  if (!running) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    sem_init(&doorbell, 0, 0);
    atomic_store(&stopping, false);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running = pthread_create(&thread, NULL, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  bool result = running;
  pthread_mutex_unlock(&start_lock);
  return result;
}

void progress_stop(void) {
  pthread_mutex_lock(&start_lock);
  if (running) {
    atomic_store(&stopping, true);
    if (atomic_exchange(&asleep, false)) {
      sem_post(&doorbell);
    }
    pthread_join(thread, NULL);
    running = false;
  }
  pthread_mutex_unlock(&start_lock);
}
