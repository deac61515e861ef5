/* SPDX-License-Identifier: Apache-2.0 */
/* The one function that the plugin exports. Everything that this rank can find wrong alone is refused at once. */
#include "channel.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define END_OF(type, field) (offsetof(type, field) + sizeof(((type *)0)->field))

struct opening {
  const tokavg_transport_options_t *options;
  char *text;
  size_t capacity;
  MPI_Comm comm;
  int thread_level;
  bool threaded;
};

__attribute__((format(printf, 3, 4))) static tokavg_status_t refuse(struct opening *opening, tokavg_status_t status,
                                                                    const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (opening->capacity > 0) {
    vsnprintf(opening->text, opening->capacity, format, arguments);
  }
  va_end(arguments);
  return status;
}

/* Library and plugin may be of different versions: what 1.0 had is always there, what we do not know must be zero. */
static tokavg_status_t check_versions(struct opening *opening, const tokavg_transport_t *table) {
  enum { LARGEST = 65536 }; /* memory that nobody has initialised */
  const tokavg_transport_options_t *options = opening->options;
  if (options->struct_size < END_OF(tokavg_transport_options_t, max_words) || options->struct_size > LARGEST) {
    return refuse(opening, TOKAVG_ERR_ARGUMENT, "options.struct_size is %u; set it to sizeof the struct, %zu here",
                  options->struct_size, sizeof *options);
  }
  if (table->struct_size < END_OF(tokavg_transport_t, close) || table->struct_size > LARGEST) {
    return refuse(opening, TOKAVG_ERR_ARGUMENT, "table_out.struct_size is %u; set it to sizeof the struct, %zu here",
                  table->struct_size, sizeof *table);
  }
  const unsigned char *bytes = (const unsigned char *)options;
  for (size_t i = sizeof *options; i < options->struct_size; i++) {
    if (bytes[i] != 0) {
      return refuse(opening, TOKAVG_ERR_UNSUPPORTED,
                    "options has byte %zu set, which this version of the plugin does not know; build the plugin of the "
                    "library in use",
                    i);
    }
  }
  return TOKAVG_OK;
}

static tokavg_status_t check_mpi(struct opening *opening) {
  int initialised = 0;
  int finalised = 0;
  MPI_Initialized(&initialised);
  if (!initialised) {
    return refuse(opening, TOKAVG_ERR_STATE, "MPI is not initialised; call MPI_Init_thread before tokavg_init");
  }
  MPI_Finalized(&finalised);
  if (finalised) {
    return refuse(opening, TOKAVG_ERR_STATE, "MPI is already finalised; call tokavg_init before MPI_Finalize");
  }
  return TOKAVG_OK;
}

/* Zeroed memory is no communicator in any MPI, and handing it to one crashes or aborts. */
static bool is_zero(MPI_Comm comm) {
  static const MPI_Comm zero;
  return comm == zero;
}

static tokavg_status_t check_comm(struct opening *opening) {
  const tokavg_transport_options_t *options = opening->options;
  if (options->comm_kind == TOKAVG_COMM_MPI && options->comm != NULL) {
    opening->comm = *(const MPI_Comm *)options->comm;
  } else if (options->comm_kind == TOKAVG_COMM_MPI_FORTRAN) {
    opening->comm = MPI_Comm_f2c((MPI_Fint)options->comm_fortran);
  } else {
    return refuse(opening, TOKAVG_ERR_CONFIG, "%s",
                  options->comm_kind == TOKAVG_COMM_MPI
                      ? "comm is NULL; it must be the address of an MPI_Comm"
                      : "comm_kind must be TOKAVG_COMM_MPI or TOKAVG_COMM_MPI_FORTRAN");
  }
  if (opening->comm == MPI_COMM_NULL || is_zero(opening->comm)) {
    return refuse(opening, TOKAVG_ERR_CONFIG,
                  "the communicator is MPI_COMM_NULL or unset; ranks outside the data group must not call tokavg_init");
  }
  int inter = 0;
  MPI_Comm_test_inter(opening->comm, &inter);
  if (inter) {
    return refuse(opening, TOKAVG_ERR_CONFIG,
                  "the communicator is an intercommunicator; merge it with MPI_Intercomm_merge");
  }
  return TOKAVG_OK;
}

static tokavg_status_t choose_progress(struct opening *opening) {
  int32_t progress = opening->options->progress;
  if (progress < TOKAVG_PROGRESS_AUTO || progress > TOKAVG_PROGRESS_CALLER) {
    return refuse(opening, TOKAVG_ERR_CONFIG, "progress is %d; use one of the TOKAVG_PROGRESS_ constants", progress);
  }
  MPI_Query_thread(&opening->thread_level);
  bool multiple = opening->thread_level == MPI_THREAD_MULTIPLE;
  if (progress == TOKAVG_PROGRESS_THREAD && !multiple) {
    return refuse(opening, TOKAVG_ERR_UNSUPPORTED,
                  "progress is TOKAVG_PROGRESS_THREAD, but MPI runs with %s; initialise it by MPI_Init_thread with "
                  "MPI_THREAD_MULTIPLE, or use TOKAVG_PROGRESS_AUTO",
                  describe_thread_level(opening->thread_level));
  }
  opening->threaded = progress != TOKAVG_PROGRESS_CALLER && multiple && progress_start();
  if (progress == TOKAVG_PROGRESS_THREAD && !opening->threaded) {
    return refuse(opening, TOKAVG_ERR_TRANSPORT, "the system gave no thread; use TOKAVG_PROGRESS_AUTO");
  }
  return TOKAVG_OK;
}

static tokavg_status_t check_sizes(struct opening *opening) {
  const tokavg_transport_options_t *options = opening->options;
  if (options->max_words < 1 || options->max_words > 4096) {
    return refuse(opening, TOKAVG_ERR_CONFIG, "max_words is %lld; 1 to 4096", (long long)options->max_words);
  }
  if (options->timeout_ms < 1 || options->timeout_ms > INT32_MAX) {
    return refuse(opening, TOKAVG_ERR_CONFIG, "timeout_ms is %lld; 1 to 2^31-1", (long long)options->timeout_ms);
  }
  return TOKAVG_OK;
}

/* An older library has room for less than we know. */
static void fill_table(const struct opening *opening, struct channel *channel, tokavg_transport_t *table_out) {
  tokavg_transport_t table = {
      .struct_size = table_out->struct_size < sizeof table ? table_out->struct_size : sizeof table,
      .version = TOKAVG_TRANSPORT_VERSION,
      .rank = channel->rank,
      .ranks = channel->ranks,
      .user = channel,
      .start = table_start,
      .test = table_test,
      .cancel = table_cancel,
      .late_ranks = table_late_ranks,
      .abort = table_abort,
      .describe = table_describe,
      .close = table_close,
  };
  if (opening->thread_level == MPI_THREAD_MULTIPLE) {
    table.capabilities |= TOKAVG_TRANSPORT_CAN_ANY_THREAD;
  }
  if (opening->threaded) {
    table.capabilities |= TOKAVG_TRANSPORT_CAN_PROGRESS;
  }
  memcpy(table_out, &table, table.struct_size);
}

static tokavg_status_t connect(struct opening *opening, tokavg_transport_t *table_out) {
  const tokavg_transport_options_t *options = opening->options;
  MPI_Comm duplicate = MPI_COMM_NULL;
  tokavg_status_t status =
      duplicate_within(opening->comm, options->timeout_ms, &duplicate, opening->text, opening->capacity);
  if (status != TOKAVG_OK) {
    return status;
  }
  MPI_Comm_set_errhandler(duplicate, MPI_ERRORS_RETURN);
  struct channel *channel = channel_new(duplicate, opening->threaded, options->max_words);
  if (channel == NULL) {
    return refuse(opening, TOKAVG_ERR_MEMORY, "no memory for the MPI transport");
  }
  if (control_listen(channel) != MPI_SUCCESS) {
    channel_dispose(channel);
    return refuse(opening, TOKAVG_ERR_TRANSPORT, "MPI refused a receive on the duplicated communicator");
  }
  process_add(channel);
  fill_table(opening, channel, table_out);
  return TOKAVG_OK;
}

TOKAVG_API tokavg_status_t tokavg_transport_open(const tokavg_transport_options_t *options,
                                                 tokavg_transport_t *table_out, char *text_out, int64_t capacity) {
  struct opening opening = {.options = options, .text = text_out, .capacity = (size_t)(capacity > 0 ? capacity : 0)};
  tokavg_status_t status = check_versions(&opening, table_out);
  if (status == TOKAVG_OK) {
    status = check_mpi(&opening);
  }
  if (status == TOKAVG_OK) {
    status = process_enter(opening.text, opening.capacity);
  }
  if (status == TOKAVG_OK) {
    status = check_comm(&opening);
  }
  if (status == TOKAVG_OK) {
    status = check_sizes(&opening);
  }
  if (status == TOKAVG_OK) {
    status = choose_progress(&opening);
  }
  if (status == TOKAVG_OK) {
    process_reap();
    status = connect(&opening, table_out);
  }
  return status;
}
