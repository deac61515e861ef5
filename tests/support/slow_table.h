/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's transport of one rank whose sums take as many polls as the test says, or for ever. */
#ifndef TOKAVG_TESTS_SUPPORT_SLOW_TABLE_H
#define TOKAVG_TESTS_SUPPORT_SLOW_TABLE_H

#include "tokavg/tokavg.h"
#include "tokavg/transport_plugin.h"

enum { SLOW_NEVER = -1 };

typedef struct slow_table {
  tokavg_transport_t table;
  int polls; /* how often a sum is asked after before it is done; read at each poll */
  int asked;
  int in_flight;
  int most_in_flight;
  int aborts;
  int closes;
  int calls_after_close;
} slow_table_t;

/* config: NULL, or what to open with (its comm is replaced). The handshake is done at once; `slow` outlives ctx. */
tokavg_context_t *slow_table_open(slow_table_t *slow, const tokavg_config_t *config);

#endif
