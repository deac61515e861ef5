/* SPDX-License-Identifier: Apache-2.0 */
/* Transports for tests in C: no exception leaves these functions, and what they return is plain data. */
#ifndef TOKAVG_TESTS_SUPPORT_INTERNAL_TRANSPORT_H
#define TOKAVG_TESTS_SUPPORT_INTERNAL_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "tokavg/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct internal_transport internal_transport_t;
typedef struct internal_sum_in_flight internal_sum_in_flight_t;
typedef struct internal_group internal_group_t;

/* OK, or the status and the text of what was thrown. */
typedef struct internal_fault {
  tokavg_status_t status;
  char text[1024];
} internal_fault_t;

/* Each function writes *fault, and returns NULL or 0 when it failed. */
internal_group_t *internal_group_new(int32_t ranks, internal_fault_t *fault);
const void *internal_group_comm(const internal_group_t *group);
void internal_group_free(internal_group_t *group);

/* TOKAVG_ERR_NOT_BUILT when no transport of this build serves the kind. */
internal_transport_t *internal_open(int32_t comm_kind, const void *comm, int32_t comm_rank, int32_t progress,
                                    const char *plugin_path, internal_fault_t *fault);
internal_transport_t *internal_open_threads(const internal_group_t *group, int32_t rank, internal_fault_t *fault);
void internal_free(internal_transport_t *transport);
int32_t internal_rank(const internal_transport_t *transport);
int32_t internal_ranks(const internal_transport_t *transport);
int internal_abort_from_any_thread(const internal_transport_t *transport);
void internal_abort(internal_transport_t *transport);
void internal_close(internal_transport_t *transport);
void internal_describe_transport(const internal_transport_t *transport, char *text_out, size_t capacity);
/* Of the factory that serves the kind. */
void internal_describe_kind(int32_t comm_kind, char *text_out, size_t capacity);

internal_sum_in_flight_t *internal_start(internal_transport_t *transport, uint64_t *words, int64_t n_words,
                                         internal_fault_t *fault);
int internal_test(internal_sum_in_flight_t *sum, internal_fault_t *fault);
/* Returns how many there are; -1 on a fault. */
int32_t internal_late_ranks(internal_sum_in_flight_t *sum, int32_t *ranks_out, int32_t capacity);
void internal_describe_sum(const internal_sum_in_flight_t *sum, char *text_out, size_t capacity);
void internal_drop(internal_sum_in_flight_t *sum);

int internal_is_json_object(const char *text);

#ifdef __cplusplus
}
#endif

#endif
