/* SPDX-License-Identifier: Apache-2.0 */
/* Terms beside the loss of the labels: those of tokens share its divisor, those of microbatches have the
 * microbatches for one. */
#include <math.h>

#include "faults/ranks.h"

enum { VOCAB = 4, STEPS = 8 };

/* One microbatch of `rows` equal tokens on `ticket`; the gradient of one of them. */
static void smoothed(tokavg_context_t *ctx, tokavg_ticket_t ticket, int64_t rows, float *gradient) {
  static const int32_t classes[STEPS];
  static const float logits[STEPS * VOCAB];
  float all[STEPS * VOCAB];
  const tokavg_labels_t labels = api_labels(classes, rows, 1);
  const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                                     .logits = api_array(logits, TOKAVG_DTYPE_F32),
                                     .vocab = VOCAB,
                                     .labels = &labels,
                                     .label_smoothing = 0.25,
                                     .gradient_out = api_array(all, TOKAVG_DTYPE_F32)};
  OK(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL));
  for (int i = 0; i < VOCAB; i++) gradient[i] = all[i];
}

/* Both parts of a smoothed loss are divided by N: 8 equal microbatches are one that is 8 times as long. */
static void label_smoothing(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  for (int64_t steps = 1; steps <= STEPS; steps *= STEPS) {
    OK(ctx, tokavg_count_add(ctx, 0, STEPS, 0, steps));
    const tokavg_ticket_t ticket = api_reduce(ctx);
    for (int64_t i = 0; i < steps; i++) {
      float gradient[VOCAB];
      smoothed(ctx, ticket, STEPS / steps, gradient);
      /* Of equal logits: 1/4 less the smoothed target 0.75 + 0.25/4, or 0.25/4, over 8. */
      for (int k = 0; k < VOCAB; k++) assert_true(gradient[k] == (k == 0 ? -0.5625f : 0.1875f) / 8);
    }
    OK(ctx, tokavg_flush(ctx, NULL));
    const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
    assert_true(fabs(result.mean_loss[0] - log(4)) < 1e-6);
  }
  api_free(ctx);
}

/* Balance losses 0.5 and 0.7 with coefficient 0.01 keep the mean over ranks beside a loss of 1.75. */
static void a_mean_beside_the_loss(void **state) {
  (void)state;
  static const double balance[2] = {0.5, 0.7};
  ranks_t ranks;
  ranks_open(&ranks, 2, NULL);
  ranks_count_uneven(&ranks);
  ranks_reduce(&ranks);
  double total = ranks_record(ranks.ctx[0], ranks.step, 4, 1) + ranks_record(ranks.ctx[1], ranks.step, 3, 3);
  for (int32_t r = 0; r < 2; r++) {
    total += 0.01 * balance[r] * api_factor(ranks.ctx[r], ranks.step, 0, TOKAVG_FACTOR_MICROBATCH);
  }
  assert_true(fabs(total / 2 - 1.756) < 1e-14); /* with the ranks in it twice 1.762 */
  ranks_free(&ranks);
}

typedef struct window {
  int32_t ranks;
  int32_t shards;
  int64_t tokens[4]; /* of the microbatches on each rank; 0: no more */
  double balance[4]; /* this rank's part of each microbatch's balance loss */
  double mean;
} window_t;

/* What is left of the balance losses after the trainer's own averaging is their mean over the microbatches. */
static void a_mean_over_microbatches(void **state) {
  const window_t *window = *state;
  tokavg_config_t config = api_config();
  config.microbatch_shards = window->shards;
  ranks_t ranks;
  ranks_open(&ranks, window->ranks, &config);
  int64_t tokens = 0;
  for (int32_t r = 0; r < ranks.n; r++) {
    for (int i = 0; i < 4 && window->tokens[i] > 0; i++) {
      OK(ranks.ctx[r], tokavg_count_add(ranks.ctx[r], 0, window->tokens[i], 0, 1));
      tokens += window->tokens[i];
    }
  }
  ranks_reduce(&ranks);
  const tokavg_result_t result = ranks_tokens(&ranks, TOKAVG_WAIT_COUNT, tokens);
  ASSERT_BITS(result.factor[0], (double)window->ranks / (double)tokens);
  double gradient = 0;
  for (int32_t r = 0; r < ranks.n; r++) {
    const double factor = api_factor(ranks.ctx[r], ranks.step, 0, TOKAVG_FACTOR_MICROBATCH);
    for (int i = 0; i < 4; i++) gradient += window->balance[i] * factor;
  }
  assert_true(fabs(gradient / window->ranks - window->mean) < 1e-14);
  ranks_free(&ranks);
}

/* Whether the microbatches are equally long has no say, nor has cutting each in two. */
static void equally_long_or_not(void **state) {
  (void)state;
  window_t windows[] = {
      {1, 1, {4, 4, 4}, {1, 2, 6}, 3},
      {1, 1, {6, 2, 4}, {1, 2, 6}, 3},
      {2, 2, {3, 1, 2}, {0.5, 1, 3}, 3},
  };
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
    void *window = &windows[i];
    a_mean_over_microbatches(&window);
  }
}

int main(void) {
  static window_t two_steps = {1, 1, {3, 5}, {1, 1}, 1};
  static window_t four_steps = {2, 1, {1, 7, 2, 2}, {1, 1, 1, 1}, 1};
  static window_t thousand_tokens = {1, 1, {600, 400}, {1, 0}, 0.5};
  const struct CMUnitTest tests[] = {
      FAULT("transformers#46731", label_smoothing),
      FAULT("transformers#48690", a_mean_beside_the_loss),
      FAULT_OF("trl#6083", a_mean_over_microbatches, &two_steps),
      FAULT_OF("Automodel#3359", a_mean_over_microbatches, &four_steps),
      FAULT("Megatron-LM#5047", equally_long_or_not),
      FAULT_OF("MaxText:gradient_accumulation", a_mean_over_microbatches, &thousand_tokens),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
