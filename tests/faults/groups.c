/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks hold different tokens, which hold copies, and over how many the trainer averages. */
#include "faults/ranks.h"

static const int32_t three[] = {1, 1, 1};

/* Two data-parallel ranks, each held twice by tensor parallelism: neighbours are copies. */
static void open_copies(ranks_t *ranks, int32_t gradient_ranks) {
  tokavg_config_t configs[4];
  for (int32_t r = 0; r < 4; r++) {
    configs[r] = api_config();
    configs[r].label_copies = 2;
    configs[r].label_copy_index = r % 2;
    configs[r].gradient_ranks = gradient_ranks;
  }
  ranks_open_each(ranks, 4, configs);
}

/* N and G follow from one statement about copies: G = 2 beside N = 8 can only be said by hand. */
static void one_convention_for_both(void **state) {
  (void)state;
  for (int32_t gradient_ranks = 0; gradient_ranks <= 2; gradient_ranks += 2) {
    ranks_t ranks;
    open_copies(&ranks, gradient_ranks);
    for (int32_t r = 0; r < 4; r++) ranks_count(&ranks, r, three, r < 2 ? 1 : 3);
    ranks_reduce(&ranks);
    assert_true(ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 4).factor[0] == 0.5);
    ranks_free(&ranks);
  }
}

/* What a rank counted of its shard is its own; losses 4 and 3 over it are means of 4 and 1. */
static void counted_on_the_shard(void **state) {
  (void)state;
  static const double sums[] = {4, 3};
  static const double means[] = {4, 1};
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  ranks_count_uneven(&ranks);
  ranks_reduce(&ranks);
  (void)ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, 4);
  for (int32_t r = 0; r < 2; r++) {
    const tokavg_result_t result = api_result(ranks.ctx[r], ranks.step, TOKAVG_WAIT_COUNT, TOKAVG_OK);
    assert_true(sums[r] / (double)result.local_tokens[0] == means[r]);
  }
  ranks_free(&ranks);
}

typedef struct layout {
  int32_t ranks;
  int32_t shards; /* context-parallel ranks that hold parts of one sequence */
} layout_t;

/* The token factor knows tokens and the ranks that are averaged over, not how the sequences were cut. */
static void cut_or_not(void **state) {
  const layout_t *layout = *state;
  double factor[2];
  int64_t tokens = 0;
  for (int32_t r = 0; r < layout->ranks; r++) tokens += r + 1;
  for (int cut = 0; cut < 2; cut++) {
    tokavg_config_t config = api_config();
    config.microbatch_shards = cut ? layout->shards : 1;
    ranks_t ranks;
    ranks_open(&ranks, layout->ranks, &config);
    for (int32_t r = 0; r < ranks.n; r++) OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, r + 1, 0, 1));
    ranks_reduce(&ranks);
    factor[cut] = ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, tokens).factor[0];
    ranks_free(&ranks);
  }
  ASSERT_BITS(factor[0], (double)layout->ranks / (double)tokens);
  ASSERT_BITS(factor[1], factor[0]);
}

/* Gradients 3 and 5 of two shards of a sequence, averaged by the trainer: their sum over N is wanted. */
static void shards_are_averaged(void **state) {
  (void)state;
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  ranks_count_uneven(&ranks);
  ranks_reduce(&ranks);
  double gradient = (3.0 + 5.0) / 2;
  const tokavg_scale_item_t item = {.data = &gradient, .count = 1, .dtype = TOKAVG_DTYPE_F64};
  const tokavg_scale_t scale = {.struct_size = (uint32_t)sizeof scale,
                                .item_size = (uint32_t)sizeof item,
                                .items = &item,
                                .n_items = 1,
                                .kind = TOKAVG_FACTOR_SCALE};
  OK(ranks.ctx[0], tokavg_scale(ranks.ctx[0], ranks.step, &scale, NULL));
  assert_true(gradient == 8.0 / 4);
  ranks_free(&ranks);
}

/* Two stages of two ranks. Stage 0 may stay away as a whole, by having no context; within a context nobody may. */
static void stages_that_stay_away(void **state) {
  (void)state;
  ranks_t last_stage;
  ranks_open(&last_stage, 2, NULL);
  ranks_count_uneven(&last_stage);
  ranks_reduce(&last_stage);
  (void)ranks_tokens(&last_stage, TOKAVG_WAIT_COUNT, 4);
  ranks_free(&last_stage);

  tokavg_config_t configs[4];
  for (int32_t r = 0; r < 4; r++) {
    configs[r] = api_config();
    configs[r].asks_only = r < 2;
    configs[r].timeout_ms = 1000;
  }
  ranks_t all;
  ranks_open_each(&all, 4, configs);
  OK(all.ctx[2], tokavg_count_add(all.ctx[2], 0, 1, 0, 1));
  OK(all.ctx[3], tokavg_count_add(all.ctx[3], 0, 3, 0, 1));
  ranks_reduce(&all);
  assert_true(ranks_tokens(&all, TOKAVG_WAIT_COUNT, 4).factor[0] == 0.5);
  for (int32_t r = 1; r < 4; r++) all.step = api_reduce(all.ctx[r]);
  for (int32_t r = 1; r < 4; r++) {
    EXPECT(all.ctx[r], tokavg_wait(all.ctx[r], all.step, TOKAVG_WAIT_COUNT, -1, NULL), TOKAVG_ERR_TIMEOUT,
           "rank 0 did not arrive");
  }
  ranks_free(&all);
}

int main(void) {
  static layout_t of_two = {2, 2};
  static layout_t of_eight = {8, 4};
  const struct CMUnitTest tests[] = {
      FAULT("torchtune:optimizer_in_bwd", one_convention_for_both),
      FAULT("torchtitan#3111", counted_on_the_shard),
      FAULT_OF("Megatron-LM#673", cut_or_not, &of_two),
      FAULT_OF("Megatron-LM#906", cut_or_not, &of_eight),
      FAULT("DeepSpeed#6841", shards_are_averaged),
      FAULT("torchtitan#4399", stages_that_stay_away),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
