/* SPDX-License-Identifier: Apache-2.0 */
/* A library that has CUDA, on a machine where no GPU can be used: AUTO is the host, CUDA a text. */
#include "support/unit.h"

#include <string.h>

#include "support/api.h"

/* Whether this is such a library and such a machine. */
static int without_a_gpu(void) {
  tokavg_config_t config = api_config();
  config.device = TOKAVG_DEVICE_CUDA;
  tokavg_context_t *ctx = NULL;
  const tokavg_status_t status = tokavg_init(&config, &ctx);
  api_free(ctx);
  return status != TOKAVG_OK && status != TOKAVG_ERR_NOT_BUILT;
}

static void the_device_is_refused(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.device = TOKAVG_DEVICE_CUDA;
  tokavg_context_t *ctx = NULL;
  EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_DEVICE, "no GPU can be used", "driver", "TOKAVG_DEVICE_HOST");
  assert_null(ctx);
}

static void auto_is_the_host(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.device = TOKAVG_DEVICE_AUTO;
  tokavg_context_t *ctx = NULL;
  OK(NULL, tokavg_init(&config, &ctx));
  api_still_works(ctx);
  api_free(ctx);
}

int main(void) {
  if (!without_a_gpu()) {
    print_message("skipped: this build has no CUDA, or there is a GPU\n");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_device_is_refused),
      cmocka_unit_test(auto_is_the_host),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
