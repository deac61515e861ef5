/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the MPI plugin share. A channel is one duplicate of the caller's communicator with the sums
 * that are in flight on it. One mutex, process.lock, protects all that MPI touches: every function below is called
 * with it held unless its comment says otherwise. What crosses without it is atomic.
 */
#ifndef TOKAVG_MPI_CHANNEL_H
#define TOKAVG_MPI_CHANNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* -std=c11 hides POSIX and dladdr */
#endif
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tokavg/transport_plugin.h"

/* Only tokavg_transport_open leaves the plugin, also where the source is built without CMake. */
#pragma GCC visibility push(hidden)

enum {
  MAX_SUMS = 64,
  REASON_BYTES = 512,
  CONTROL_TAG = 0,
  SUM_TAGS = 16383, /* sums use tags 1 to 16383; MPI promises at least 32767 (MPI 3.1, 8.1.2) */
  REPORT_WORDS = 4,
  LETTER_REPORTS = 30,
  LETTER_WORDS = 1 + LETTER_REPORTS * REPORT_WORDS
};

/* FREE -> CLAIMED -> READY -> RUNNING -> DONE or FAILED -> FREE. A lock holder alone leaves READY and RUNNING. */
enum sum_state { SUM_FREE, SUM_CLAIMED, SUM_READY, SUM_RUNNING, SUM_DONE, SUM_FAILED };

enum phase { FOLD_SEND, FOLD_RECEIVE, ROUND, UNFOLD_SEND, UNFOLD_RECEIVE };

struct sum {
  atomic_int state;
  enum phase phase;
  int round;
  int64_t sequence;
  int n_words;
  uint64_t *words;         /* the core's; MPI never sees it */
  uint64_t *total;         /* what this rank has added up, and what it sends */
  uint64_t *incoming;      /* max_words long: a longer message is the core's to recognise, not an MPI error */
  MPI_Request requests[2]; /* receive, send */
};

/* One rank's word on a passed deadline. */
struct report {
  bool seen;
  bool first;        /* not even the first message of waits_for has come */
  int32_t rounds;    /* rounds that the reporter has behind it */
  int32_t waits_for; /* -1: nobody */
  int64_t sequence;  /* of the sum it waits in */
};

struct culprits {
  bool collecting;
  bool frozen;
  bool silent; /* the first report found this rank inattentive */
  int64_t since_ns;
  struct report *reports; /* one a rank; NULL before the first report, or without memory */
  int32_t *fresh;         /* reporters to be passed on */
  int32_t n_fresh;
  uint8_t *late; /* one a rank, valid when frozen */
  int32_t n_late;
};

struct letter; /* a control message under way */

struct control {
  MPI_Request request; /* the one receive from anybody */
  uint64_t incoming[LETTER_WORDS];
  uint64_t farewell; /* the message to oneself that ends the receive */
  struct letter *sent;
  atomic_llong polled_ns;  /* the latest look */
  atomic_llong resumed_ns; /* the first look after a long gap */
  bool abort_passed_on;
};

struct channel {
  struct channel *next;
  pid_t pid;
  MPI_Comm comm;
  int rank;
  int ranks;
  int power;    /* largest power of two <= ranks */
  int folded;   /* ranks - power: so many pairs fold first */
  int position; /* in the hypercube; -1: folded away */
  int rounds;   /* log2(power) */
  bool threaded;
  bool detached; /* no MPI call any more */
  bool keep;     /* MPI may still hold pointers into this memory */
  int64_t max_words;
  atomic_int status; /* 0, or the first error, after reason was written */
  char reason[REASON_BYTES];
  atomic_llong next_sequence;
  atomic_llong last_start_ns;
  atomic_llong interval_ns; /* between sums, smoothed */
  atomic_int n_used;        /* sums[n_used] and later were never claimed */
  struct sum sums[MAX_SUMS];
  struct control control;
  struct culprits culprits;
};

/* The one thread and the one registry of this process. */
struct process {
  pthread_mutex_t lock;
  atomic_int pid;            /* 0 before the first open */
  struct channel *channels;  /* live */
  struct channel *closed;    /* left by a close that may not call MPI */
  struct channel *graveyard; /* memory that MPI may still write to, kept reachable */
  atomic_llong unfinished;   /* sums of threaded channels that are READY or RUNNING */
  atomic_llong posts;        /* grows with every start: the thread looks closer again */
};
extern struct process process;

/* clock.c; no lock needed */
int64_t now_ns(void);
void nap_ns(int64_t duration_ns);

/* channel.c */
struct channel *channel_new(MPI_Comm comm, bool threaded, int64_t max_words); /* no lock; NULL: no memory */
bool channel_advance(struct channel *channel);
void channel_begin_sums(struct channel *channel);
bool channel_advance_sums(struct channel *channel);
void channel_fail(struct channel *channel, tokavg_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void channel_fail_mpi(struct channel *channel, const char *what, int error);
void channel_drop_sums(struct channel *channel);
void channel_give_up_requests(struct channel *channel);
void channel_dispose(struct channel *channel);
tokavg_status_t channel_usable(const struct channel *channel); /* no lock */

/* table.c: entries of the table; they take the lock themselves */
tokavg_status_t table_start(void *user, uint64_t *words, int64_t n_words, void **request_out);
tokavg_status_t table_test(void *user, void *request, int32_t *done_out);
tokavg_status_t table_cancel(void *user, void *request);
tokavg_status_t table_abort(void *user);
tokavg_status_t table_late_ranks(void *user, void *request, int32_t *ranks_out, int32_t capacity, int32_t *count_out);
tokavg_status_t table_describe(void *user, void *request, char *text_out, int64_t capacity);
void table_close(void *user, int32_t collective);

/* hypercube.c */
int hypercube_begin(struct channel *channel, struct sum *sum);
int hypercube_advance(struct channel *channel, struct sum *sum, bool *moved_out, bool *done_out);
int hypercube_peer(const struct channel *channel, const struct sum *sum);
void hypercube_describe(const struct channel *channel, const struct sum *sum, char *text_out, size_t capacity);

/* control.c */
int control_listen(struct channel *channel);
bool control_poll(struct channel *channel);
bool control_is_attentive(const struct channel *channel);
bool control_is_recent(const struct channel *channel);
void control_send(struct channel *channel, const uint64_t *words, int n_words);
void control_send_abort(struct channel *channel, int origin);
void control_send_reports(struct channel *channel);
void control_shut(struct channel *channel);
void control_free_letters(struct channel *channel);

/* culprits.c */
void culprits_report(struct channel *channel);
void culprits_receive(struct channel *channel, const uint64_t *words);
void culprits_write(const struct channel *channel, int32_t reporter, uint64_t *words);
void culprits_tick(struct channel *channel);

/* process.c */
tokavg_status_t process_enter(char *text_out, size_t capacity); /* no lock */
void process_add(struct channel *channel);                      /* no lock */
void process_remove(struct channel *channel);
void process_reap(void); /* no lock */
void process_bury(struct channel *channel);
bool process_try_lock(void);
void process_lock(void);
void process_unlock(void);

/* progress.c; no lock needed */
bool progress_start(void);
void progress_wake(void);
void progress_stop(void);

/* duplicate.c; no lock needed */
void duplicate_settle(void);
tokavg_status_t duplicate_within(MPI_Comm comm, int64_t timeout_ms, MPI_Comm *duplicate_out, char *text_out,
                                 size_t capacity);

/* describe.c; no lock needed */
void describe_read_mpi(void);
const char *describe_thread_level(int level);

#pragma GCC visibility pop
#endif
