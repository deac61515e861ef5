/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's transport over ranks of this process that notes every sum that the library starts. */
#ifndef TOKAVG_TESTS_FAULTS_TABLE_H
#define TOKAVG_TESTS_FAULTS_TABLE_H

#include <pthread.h>

#include "faults/ranks.h"
#include "tokavg/transport_plugin.h"

enum { TABLE_RANKS = 8, TABLE_SUMS = 64, TABLE_WORDS = 1024 };

typedef struct table_sum {
  uint64_t words[TABLE_WORDS];
  int64_t n_words[TABLE_RANKS]; /* what each rank sent; 0: it has not come */
  int32_t arrived;
} table_sum_t;

typedef struct table table_t;

typedef struct table_end {
  table_t *table;
  int32_t rank;
  int32_t starts; /* sums begun by this rank */
  uint64_t *waiting[TABLE_SUMS];
} table_end_t;

struct table {
  pthread_mutex_t mutex;
  int32_t ranks;
  table_sum_t sums[TABLE_SUMS];
  table_end_t ends[TABLE_RANKS];
  tokavg_transport_t functions[TABLE_RANKS];
};

/* config: NULL, or that of every rank. table outlives the ranks. */
void table_open(table_t *table, ranks_t *ranks, int32_t n, const tokavg_config_t *config);

#endif
