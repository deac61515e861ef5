/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <tokavg/tokavg.h>

void steps_in_c(tokavg_context_t *ctx, int32_t *data, int64_t rows, int64_t cols, int32_t calls);

void steps_in_c(tokavg_context_t *ctx, int32_t *data, int64_t rows, int64_t cols, int32_t calls) {
  for (int32_t i = 0; i < calls; i++) {
    tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = rows, .cols = cols};
    labels.labels = (tokavg_array_t){.data = data, .dtype = TOKAVG_DTYPE_I32};
    tokavg_ticket_t ticket;
    if (tokavg_count(ctx, &labels, NULL) != TOKAVG_OK || tokavg_reduce(ctx, NULL, NULL, &ticket) != TOKAVG_OK) abort();
  }
}
