/* SPDX-License-Identifier: Apache-2.0 */
/* What this process has once: the lock, the list of channels, and the word of MPI that it is about to end. */
#include "channel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

struct process process = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool process_try_lock(void) { return pthread_mutex_trylock(&process.lock) == 0; }
void process_lock(void) { pthread_mutex_lock(&process.lock); }
void process_unlock(void) { pthread_mutex_unlock(&process.lock); }

/* A message that no receive of this rank will ever match: of a sum that another rank began and this one did not. */
static bool has_unmatched_message(struct channel *channel) {
  int found = 0;
  return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel->comm, &found, MPI_STATUS_IGNORE) != MPI_SUCCESS || found;
}

/*
 * Ends all that a channel has with MPI. Returns whether the communicator is to be freed. Two kinds are left to
 * MPI_Finalize: the peers of a failed channel may never free theirs, and MPI_Comm_free is collective (MPI 3.1, 6.4.3);
 * and MPICH 4.1 and later end the job, whatever the error handler, where a message is left in the one that is freed.
 */
static bool leave_mpi(struct channel *channel) {
  bool healthy = !channel->detached && atomic_load(&channel->status) == TOKAVG_OK;
  channel_drop_sums(channel);
  channel_give_up_requests(channel);
  if (!channel->detached) {
    control_shut(channel);
  }
  return healthy && !has_unmatched_message(channel);
}

/*
 * Runs first in MPI_Finalize (MPI 3.1, 8.7.1), while MPI still works: nothing of ours may touch MPI afterwards, and
 * an open receive would be an error there.
 */
static int on_finalise(MPI_Comm comm, int key, void *value, void *state) {
  (void)comm, (void)key, (void)value, (void)state;
  if (process.pid != getpid()) {
    return MPI_SUCCESS;
  }
  progress_stop();
  duplicate_settle();
  process_reap();
  process_lock();
  for (struct channel *channel = process.channels; channel != NULL; channel = channel->next) {
    channel_fail(channel, TOKAVG_ERR_TRANSPORT, "MPI was finalised before the context was");
    leave_mpi(channel); /* MPI_Finalize frees the communicator: messages of other ranks may still be on their way */
    channel->detached = true;
  }
  process_unlock();
  return MPI_SUCCESS;
}

/* The thread and MPI hold addresses inside this library: it may not be unloaded. */
static void pin_library(void) {
  Dl_info info;
  if (dladdr(&process, &info) != 0 && info.dli_fname != NULL) {
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

static int ask_for_last_word(void) {
  int key = MPI_KEYVAL_INVALID;
  int error = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalise, &key, NULL);
  if (error == MPI_SUCCESS) {
    error = MPI_Comm_set_attr(MPI_COMM_SELF, key, &process);
  }
  return error;
}

/* First thing in each open, MPI being initialised. */
tokavg_status_t process_enter(char *text_out, size_t capacity) {
  tokavg_status_t status = TOKAVG_OK;
  pid_t pid = getpid();
  const pid_t owner = process.pid;
  if (owner != 0 && owner != pid) {
    snprintf(text_out, capacity, "this process was forked from one that uses MPI; only that one may use it");
    return TOKAVG_ERR_STATE;
  }
  process_lock();
  if (process.pid == 0) {
    pin_library();
    describe_read_mpi();
    if (ask_for_last_word() == MPI_SUCCESS) {
      process.pid = pid;
    } else {
      snprintf(text_out, capacity, "MPI refused an attribute on MPI_COMM_SELF");
      status = TOKAVG_ERR_TRANSPORT;
    }
  }
  process_unlock();
  return status;
}

void process_add(struct channel *channel) {
  process_lock();
  channel->next = process.channels;
  process.channels = channel;
  process_unlock();
}

void process_remove(struct channel *channel) {
  struct channel **link = &process.channels;
  while (*link != NULL && *link != channel) {
    link = &(*link)->next;
  }
  if (*link == channel) {
    *link = channel->next;
  }
}

void process_bury(struct channel *channel) {
  channel->next = process.graveyard;
  process.graveyard = channel;
}

/* What closes without communication have left. MPI_Comm_free is called without the lock: it is allowed to wait. */
void process_reap(void) {
  for (;;) {
    process_lock();
    struct channel *channel = process.closed;
    if (channel == NULL) {
      process_unlock();
      return;
    }
    process.closed = channel->next;
    bool must_free = leave_mpi(channel);
    MPI_Comm comm = channel->comm;
    channel_dispose(channel);
    process_unlock();
    if (must_free) {
      MPI_Comm_free(&comm);
    }
  }
}

/* Only a collective close of a healthy channel may talk: a failed one has ranks that never come. */
void table_close(void *user, int32_t collective) {
  struct channel *channel = user;
  if (channel->pid != getpid()) {
    return;
  }
  process_lock();
  process_remove(channel);
  channel_drop_sums(channel);
  if (channel->detached) {
    channel_dispose(channel);
    process_unlock();
    return;
  }
  channel->next = process.closed;
  process.closed = channel;
  bool talk = collective != 0 && atomic_load(&channel->status) == TOKAVG_OK;
  process_unlock();
  if (talk) {
    process_reap();
  }
}
