/* SPDX-License-Identifier: Apache-2.0 */
/* Data that lies elsewhere than it is used, and sums that nobody moves on. What needs a GPU is in tests/cuda. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <time.h>

#include "faults/ranks.h"

/* On a host context memory of a GPU is refused before anything is read, and no other rank trains on the rest. */
static void data_on_another_device(void **state) {
  (void)state;
  static const int32_t row[] = {1, 1, 1};
  static const float ones[] = {1, 1, 1};
  ranks_t ranks;
  tokavg_config_t config = api_config();
  config.device = TOKAVG_DEVICE_HOST;
  ranks_open(&ranks, 2, &config);
  tokavg_labels_t labels = api_labels(row, 1, 3);
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss,
                        .kind = TOKAVG_LOSS_TOKEN_LOSSES,
                        .rows = 1,
                        .cols = 3,
                        .losses = api_array(ones, TOKAVG_DTYPE_F32)};
  loss.losses.memory = TOKAVG_MEMORY_CUDA;
  labels.labels.memory = TOKAVG_MEMORY_CUDA;
  for (int i = 0; i < 2; i++) {
    const tokavg_status_t status =
        i == 0 ? tokavg_count(ranks.ctx[0], &labels, NULL) : tokavg_loss(ranks.ctx[0], TOKAVG_OPEN, &loss, NULL);
    assert_true(status == TOKAVG_ERR_UNSUPPORTED || status == TOKAVG_ERR_NOT_BUILT);
    ranks_reduce(&ranks);
    EXPECT(ranks.ctx[0], tokavg_wait(ranks.ctx[0], ranks.step, TOKAVG_WAIT_COUNT, -1, NULL), status, "CUDA");
    EXPECT(ranks.ctx[1], tokavg_wait(ranks.ctx[1], ranks.step, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_PEER, "rank 0");
  }
  ranks_free(&ranks);
}

/* A forward pass of 100 ms without a call: the sum is complete when it is asked for. Two ranks would hide it. */
static void complete_after_a_forward_pass(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 4, NULL);
  for (int32_t r = 0; r < 4; r++) OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, r + 1, 0, 1));
  ranks_reduce(&ranks);
  nanosleep(&(struct timespec){0, 100000000}, NULL);
  for (int32_t r = 0; r < 4; r++) {
    tokavg_result_t result = {.struct_size = (uint32_t)sizeof result};
    OK(ranks.ctx[r], tokavg_wait(ranks.ctx[r], ranks.step, TOKAVG_WAIT_COUNT, 0, &result));
    assert_int_equal(result.tokens[0], 10);
  }
  ranks_free(&ranks);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT("transformers#37886", data_on_another_device),
      FAULT("ompi#13088", complete_after_a_forward_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
