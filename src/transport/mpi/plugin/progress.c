/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one background thread of the process. It exists because nonblocking sums do not advance without MPI calls:
 * with 10 ms of skew between four ranks a wait costs 6.8 ms without it and 1 to 2 us with it. It makes MPI calls and
 * touches memory, nothing else.
 *
 * It never spins: whoever waits for a sum moves it on itself, and pure polling would take 7 % of the host from the
 * application. While a sum is under way it sleeps from 20 us on in doubling steps. Between sums it naps for a small
 * part of their interval, so that starting one need not wake it: ringing cost the caller 13 to 130 us, the more ranks
 * shared a core. Only after a second without a sum it waits on a semaphore.
 */
#include "channel.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static const int64_t linger_ns = 1000000000;
static const int64_t longest_idle_nap_ns = 2000000;
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

/* How long the thread may sleep: while a sum is under way, and between sums. */
struct pace {
  int64_t nap_cap_ns;
  int64_t idle_nap_ns;
};

static int64_t clamp_ns(int64_t value, int64_t low, int64_t high) {
  value = value < low ? low : value;
  return value > high ? high : value;
}

/* A sum takes `rounds` naps longer, which must stay a small part of the time between two sums. */
static void keep_pace(struct channel *channel, struct pace *pace) {
  int rounds = channel->rounds > 0 ? channel->rounds : 1;
  int64_t interval = atomic_load(&channel->interval_ns);
  int64_t cap = interval == 0 ? 5 * first_nap_ns : interval / ((int64_t)8 * rounds);
  cap = clamp_ns(cap, shortest_cap_ns, longest_nap_ns);
  int64_t idle = clamp_ns(interval / 16, shortest_cap_ns, longest_idle_nap_ns);
  pace->nap_cap_ns = cap < pace->nap_cap_ns ? cap : pace->nap_cap_ns;
  pace->idle_nap_ns = idle < pace->idle_nap_ns ? idle : pace->idle_nap_ns;
}

static bool advance_all(struct pace *pace) {
  bool moved = false;
  *pace = (struct pace){longest_nap_ns, longest_idle_nap_ns};
  process_lock();
  for (struct channel *channel = process.channels; channel != NULL; channel = channel->next) {
    if (channel->threaded) {
      keep_pace(channel, pace);
      moved |= channel_advance(channel);
    }
  }
  process_unlock();
  return moved;
}

/*
 * Until there is a sum to move on. It looks at the control messages meanwhile: an abort or a deadline of another rank
 * is heard while this one computes, and the next start need not look for itself.
 */
static void idle(struct pace *pace) {
  int64_t begin = now_ns();
  while (atomic_load(&process.unfinished) == 0 && !atomic_load(&stopping)) {
    if (now_ns() - begin > linger_ns) {
      sleep_until_woken();
      return;
    }
    nap_ns(pace->idle_nap_ns);
    advance_all(pace);
  }
}

static void *run(void *unused) {
#ifdef __linux__
  prctl(PR_SET_NAME, "tokavg-mpi");
  prctl(PR_SET_TIMERSLACK, 1UL); /* with the default slack a sleep of 1 us takes 68 us */
#endif
  struct pace pace = {longest_nap_ns, longest_nap_ns};
  int64_t nap = first_nap_ns;
  long long posts = 0;
  while (!atomic_load(&stopping)) {
    idle(&pace);
    long long seen = atomic_load(&process.posts);
    bool moved = advance_all(&pace);
    nap = moved || seen != posts ? first_nap_ns : 2 * nap;
    nap = nap > pace.nap_cap_ns ? pace.nap_cap_ns : nap;
    posts = seen;
    if (atomic_load(&process.unfinished) > 0) {
      nap_ns(nap);
    }
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
