/* SPDX-License-Identifier: Apache-2.0 */
#include "support/slow_table.h"

#include <string.h>

#include "support/api.h"

static slow_table_t *used(void *user) {
  slow_table_t *slow = user;
  if (slow->closes > 0) slow->calls_after_close++;
  return slow;
}

static tokavg_status_t slow_start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  slow_table_t *slow = used(user);
  (void)n_words; /* one rank: the sum of its words is what they are */
  if (++slow->in_flight > slow->most_in_flight) slow->most_in_flight = slow->in_flight;
  *request_out = words;
  return TOKAVG_OK;
}

static tokavg_status_t slow_test(void *user, void *request, int32_t *done_out) {
  slow_table_t *slow = used(user);
  (void)request;
  *done_out = slow->polls != SLOW_NEVER && slow->asked++ >= slow->polls;
  if (*done_out) {
    slow->asked = 0;
    slow->in_flight--;
  }
  return TOKAVG_OK;
}

static tokavg_status_t slow_cancel(void *user, void *request) {
  (void)request;
  used(user)->in_flight--;
  return TOKAVG_OK;
}

static tokavg_status_t slow_late_ranks(void *user, void *request, int32_t *ranks_out, int32_t capacity,
                                       int32_t *count_out) {
  (void)request;
  (void)used(user);
  if (capacity > 0) ranks_out[0] = 0;
  *count_out = 1;
  return TOKAVG_OK;
}

static tokavg_status_t slow_abort(void *user) {
  used(user)->aborts++;
  return TOKAVG_OK;
}

static void slow_close(void *user, int32_t collective) {
  (void)collective;
  used(user)->closes++;
}

tokavg_context_t *slow_table_open(slow_table_t *slow, const tokavg_config_t *config) {
  memset(slow, 0, sizeof *slow);
  slow->table = (tokavg_transport_t){.struct_size = (uint32_t)sizeof slow->table,
                                     .version = TOKAVG_TRANSPORT_VERSION,
                                     .ranks = 1,
                                     .capabilities = TOKAVG_TRANSPORT_CAN_ANY_THREAD,
                                     .user = slow,
                                     .start = slow_start,
                                     .test = slow_test,
                                     .cancel = slow_cancel,
                                     .late_ranks = slow_late_ranks,
                                     .abort = slow_abort,
                                     .close = slow_close};
  tokavg_config_t own = config != NULL ? *config : api_config();
  own.comm_kind = TOKAVG_COMM_CALLER;
  own.comm = &slow->table;
  return api_open(&own);
}
