/* SPDX-License-Identifier: Apache-2.0 */
#include "faults/table.h"

#include <string.h>

/* A request is a place in the list of the words that wait, so it says which sum it is. */
static tokavg_status_t start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  table_end_t *end = user;
  table_t *table = end->table;
  if (end->starts == TABLE_SUMS || n_words > TABLE_WORDS) return TOKAVG_ERR_TRANSPORT;
  pthread_mutex_lock(&table->mutex);
  table_sum_t *sum = &table->sums[end->starts];
  for (int64_t i = 0; i < n_words; i++) sum->words[i] += words[i];
  sum->n_words[end->rank] = n_words;
  sum->arrived++;
  end->waiting[end->starts] = words;
  *request_out = &end->waiting[end->starts++];
  pthread_mutex_unlock(&table->mutex);
  return TOKAVG_OK;
}

static tokavg_status_t test(void *user, void *request, int32_t *done_out) {
  table_end_t *end = user;
  table_t *table = end->table;
  uint64_t **waiting = request;
  pthread_mutex_lock(&table->mutex);
  const table_sum_t *sum = &table->sums[waiting - end->waiting];
  *done_out = sum->arrived == table->ranks;
  if (*done_out) memcpy(*waiting, sum->words, (size_t)sum->n_words[end->rank] * sizeof *sum->words);
  pthread_mutex_unlock(&table->mutex);
  return TOKAVG_OK;
}

static tokavg_status_t cancel(void *user, void *request) {
  (void)user;
  (void)request;
  return TOKAVG_OK;
}

void table_open(table_t *table, ranks_t *ranks, int32_t n, const tokavg_config_t *config) {
  tokavg_config_t configs[TABLE_RANKS];
  memset(table, 0, sizeof *table);
  assert_true(n <= TABLE_RANKS && pthread_mutex_init(&table->mutex, NULL) == 0);
  table->ranks = n;
  for (int32_t r = 0; r < n; r++) {
    table->ends[r] = (table_end_t){.table = table, .rank = r};
    table->functions[r] = (tokavg_transport_t){.struct_size = (uint32_t)sizeof table->functions[r],
                                               .version = TOKAVG_TRANSPORT_VERSION,
                                               .rank = r,
                                               .ranks = n,
                                               .user = &table->ends[r],
                                               .start = start,
                                               .test = test,
                                               .cancel = cancel};
    configs[r] = config != NULL ? *config : api_config();
    configs[r].comm_kind = TOKAVG_COMM_CALLER;
    configs[r].comm = &table->functions[r];
  }
  ranks_open_each(ranks, n, configs);
}
