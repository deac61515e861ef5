/* SPDX-License-Identifier: Apache-2.0 */
/* probe: prints the time-out of a context in ms, as tokavg_describe says it: what TOKAVG_TIMEOUT_MS says, or the
 * default. */
#include <stdio.h>
#include <string.h>

#include "tokavg/tokavg.h"

int main(void) {
  static char text[65536];
  tokavg_config_t config;
  tokavg_context_t *ctx = NULL;
  tokavg_config_init(&config, (uint32_t)sizeof config);
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  if (tokavg_init(&config, &ctx) != TOKAVG_OK) return 1;
  if (tokavg_describe(ctx, text, (int64_t)sizeof text, NULL) != TOKAVG_OK) return 2;
  puts(strstr(text, "TOKAVG_TIMEOUT_MS") != NULL ? "honoured" : "ignored");
  return tokavg_free(ctx) == TOKAVG_OK ? 0 : 3;
}
