/* SPDX-License-Identifier: Apache-2.0 */
/* What this build lacks is told with the option that builds it. */
#include "support/unit.h"

#include <stdio.h>
#include <string.h>

#include "support/api.h"

static int library_has(const char *member) {
  static char text[16384];
  assert_int_equal(tokavg_describe(NULL, text, (int64_t)sizeof text, NULL), TOKAVG_OK);
  return strstr(text, member) != NULL;
}

static void init_without(const tokavg_config_t *config, const char *option) {
  tokavg_context_t *ctx = NULL;
  EXPECT(NULL, tokavg_init(config, &ctx), TOKAVG_ERR_NOT_BUILT, option, "build");
  assert_null(ctx);
}

static void the_cuda_device(void **state) {
  (void)state;
  if (!library_has("\"cuda\": false")) skip();
  tokavg_config_t config = api_config();
  config.device = TOKAVG_DEVICE_CUDA;
  init_without(&config, "-DTOKAVG_CUDA=ON");
}

static void nccl(void **state) {
  (void)state;
  if (!library_has("\"nccl\": false")) skip();
  tokavg_config_t config = api_config();
  int communicator = 0;
  config.comm_kind = TOKAVG_COMM_NCCL;
  config.comm = &communicator;
  init_without(&config, "-DTOKAVG_NCCL=ON");
  config = api_config();
  config.transport = TOKAVG_TRANSPORT_NCCL;
  init_without(&config, "-DTOKAVG_NCCL=ON");
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &communicator;
  init_without(&config, "-DTOKAVG_NCCL=ON");
}

static void memory_of_a_gpu(void **state) {
  (void)state;
  if (!library_has("\"cuda\": false")) skip();
  tokavg_context_t *ctx = api_self();
  const int32_t data[1] = {1};
  tokavg_labels_t labels = api_labels(data, 1, 1);
  labels.labels.memory = TOKAVG_MEMORY_CUDA;
  EXPECT(ctx, tokavg_count(ctx, &labels, NULL), TOKAVG_ERR_NOT_BUILT, "labels.labels", "-DTOKAVG_CUDA=ON");
  const tokavg_ticket_t failed = api_reduce(ctx);
  (void)api_result(ctx, failed, TOKAVG_WAIT_COUNT, TOKAVG_ERR_NOT_BUILT);

  OK(ctx, tokavg_count_add(ctx, 0, 1, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  double value = 3;
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, 1);
  loss.losses.memory = TOKAVG_MEMORY_CUDA;
  EXPECT(ctx, tokavg_loss(ctx, ticket, &loss, NULL), TOKAVG_ERR_NOT_BUILT, "loss.losses", "-DTOKAVG_CUDA=ON");
  tokavg_scale_item_t item = {&value, 1, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_CUDA};
  const tokavg_scale_t scale = {
      (uint32_t)sizeof scale, (uint32_t)sizeof item, &item, 1, 0, TOKAVG_FACTOR_SCALE, 0, NULL};
  EXPECT(ctx, tokavg_scale(ctx, ticket, &scale, NULL), TOKAVG_ERR_NOT_BUILT, "scale.items[0]", "-DTOKAVG_CUDA=ON");
  assert_true(value == 3);
  /* A failure on a closed ticket is told with the next message, which is this step's. */
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_NOT_BUILT);
  api_still_works(ctx);
  api_free(ctx);
}

static void logits_on_a_gpu(void **state) {
  (void)state;
  if (!library_has("\"cuda\": false")) skip();
  tokavg_context_t *ctx = api_self();
  const int32_t data[1] = {1};
  const tokavg_labels_t labels = api_labels(data, 1, 1);
  float logits[2] = {0, 0};
  float gradient[2] = {7, 7};
  const float one = 1;
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = 2, .labels = &labels};
  ce.logits = api_array(logits, TOKAVG_DTYPE_F32);
  ce.gradient_out = api_array(gradient, TOKAVG_DTYPE_F32);
  ce.gradient_out.memory = TOKAVG_MEMORY_CUDA;
  EXPECT(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL), TOKAVG_ERR_NOT_BUILT, "ce.gradient_out",
         "TOKAVG_CUDA");
  ce.gradient_out.memory = TOKAVG_MEMORY_HOST;
  ce.loss_scale_device = &one;
  EXPECT(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL), TOKAVG_ERR_NOT_BUILT, "ce.loss_scale_device");
  assert_true(gradient[0] == 7 && gradient[1] == 7);
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_NOT_BUILT);
  api_still_works(ctx);
  api_free(ctx);
}

static void a_factor_on_a_gpu(void **state) {
  (void)state;
  if (!library_has("\"cuda\": false")) skip();
  tokavg_context_t *ctx = api_self();
  const float *factor = NULL;
  EXPECT(ctx, tokavg_factor_device(ctx, api_reduce(ctx), 0, TOKAVG_FACTOR_SCALE, NULL, &factor), TOKAVG_ERR_NOT_BUILT,
         "-DTOKAVG_CUDA=ON", "tokavg_factor");
  assert_null(factor);
  api_still_works(ctx);
  api_free(ctx);
}

static void mpi(void **state) {
  (void)state;
  if (!library_has("\"mpi\": false")) skip();
  tokavg_config_t config = api_config();
  int communicator = 0;
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &communicator;
  init_without(&config, "-DTOKAVG_MPI=ON");
}

int main(void) {
  if (!library_has(": false")) {
    puts("skipped: this build lacks nothing");
    return 77;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_cuda_device),   cmocka_unit_test(nccl),
      cmocka_unit_test(memory_of_a_gpu),   cmocka_unit_test(logits_on_a_gpu),
      cmocka_unit_test(a_factor_on_a_gpu), cmocka_unit_test(mpi),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
