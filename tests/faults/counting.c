/* SPDX-License-Identifier: Apache-2.0 */
/* Trainers that count other tokens than their loss holds. The counts themselves are in tests/data; here the trainer
 * makes its mistake, and the audit has both numbers. */
#include "faults/ranks.h"

static void found_by_the_audit(tokavg_context_t *ctx, tokavg_ticket_t ticket, int64_t counted, int64_t recorded) {
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.flags, TOKAVG_RESULT_AUDIT_FAILED);
  assert_int_equal(result.audit_ticket, ticket);
  assert_int_equal(result.audit_counted, counted);
  assert_int_equal(result.audit_recorded, recorded);
}

/* The losses of these labels, each 1. */
static tokavg_loss_t losses_of(const tokavg_labels_t *labels, const float *ones) {
  return (tokavg_loss_t){.struct_size = (uint32_t)sizeof(tokavg_loss_t),
                         .kind = TOKAVG_LOSS_TOKEN_LOSSES,
                         .rows = labels->rows,
                         .cols = labels->cols,
                         .losses = api_array(ones, TOKAVG_DTYPE_F32),
                         .labels = labels};
}

static const float ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

static void the_loss_drops_a_column_that_is_counted(void **state) {
  (void)state;
  static const int32_t rows[] = {5, 6, 7, 8, 5, 6, -100, -100};
  tokavg_context_t *ctx = api_self();
  const tokavg_labels_t unshifted = api_labels(rows, 2, 4);
  tokavg_labels_t shifted = unshifted;
  shifted.shift = 1;
  const tokavg_loss_t loss = losses_of(&shifted, ones);
  OK(ctx, tokavg_count(ctx, &unshifted, NULL));
  tokavg_ticket_t ticket = api_reduce(ctx);
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  found_by_the_audit(ctx, ticket, 6, 4);
  OK(ctx, tokavg_count(ctx, &shifted, NULL));
  ticket = api_reduce(ctx);
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 4);
  assert_true(result.mean_loss[0] == 1);
  api_free(ctx);
}

/* Nothing is shifted unless the caller says so; if it says so of shifted labels, the losses tell. */
static void shifted_twice(void **state) {
  (void)state;
  static const int32_t row[] = {6, 7, 8, -100};
  tokavg_context_t *ctx = api_self();
  tokavg_labels_t labels = api_labels(row, 1, 4);
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  assert_int_equal(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).tokens[0], 3);
  labels.shift = 1;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  (void)ranks_record(ctx, ticket, 3, 3);
  found_by_the_audit(ctx, ticket, 2, 3);
  api_free(ctx);
}

/* A mean over the padded length, which is 3, of losses 2, 4 and nothing. */
static void a_mean_over_padding(void **state) {
  (void)state;
  const double mean = 2;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 2, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  tokavg_loss_t loss = api_value(TOKAVG_LOSS_MEAN, &mean, 3);
  double sum = 0;
  loss.sum_out = &sum;
  OK(ctx, tokavg_loss(ctx, ticket, &loss, NULL));
  assert_true(sum == 6);
  found_by_the_audit(ctx, ticket, 2, 3);
  api_free(ctx);
  /* Over class weights there is no number of tokens to say, and a mean is refused. */
  tokavg_config_t config = api_config();
  config.divisor = TOKAVG_DIVISOR_WEIGHTS;
  ctx = api_open(&config);
  EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), TOKAVG_ERR_ARGUMENT, "MEAN");
  api_free(ctx);
}

typedef struct miscount {
  int64_t counted; /* by the trainer */
  int64_t scored;  /* the tokens in its loss */
} miscount_t;

/* Each wrong count of a report beside the tokens whose losses were summed. */
static void counted_by_the_trainer(void **state) {
  const miscount_t *miscount = *state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, miscount->counted, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  (void)ranks_record(ctx, ticket, 1, miscount->scored);
  found_by_the_audit(ctx, ticket, miscount->counted, miscount->scored);
  api_free(ctx);
}

static void a_count_below_zero(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  EXPECT(ctx, tokavg_count_add(ctx, 0, -1, 0, 1), TOKAVG_ERR_ARGUMENT, "-1");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_ARGUMENT);
  api_free(ctx);
}

int main(void) {
  static miscount_t sentences = {2, 4};
  static miscount_t without_the_end = {2, 4};
  static miscount_t with_the_prefix = {6, 4};
  static miscount_t with_padding = {4, 2};
  static miscount_t another_ignore_index = {4, 2};
  const struct CMUnitTest tests[] = {
      FAULT("transformers#46204", the_loss_drops_a_column_that_is_counted),
      FAULT("transformers#44642", shifted_twice),
      FAULT("burn:cross_entropy.rs", a_mean_over_padding),
      FAULT("unsloth-zoo@ce232d6", a_count_below_zero),
      FAULT_OF("OpenNMT-py#526", counted_by_the_trainer, &sentences),
      FAULT_OF("OpenNMT-py:_accum_batches", counted_by_the_trainer, &without_the_end),
      FAULT_OF("fairseq:label_smoothed_cross_entropy", counted_by_the_trainer, &with_the_prefix),
      FAULT_OF("maxtext#366", counted_by_the_trainer, &with_padding),
      FAULT_OF("nanochat#623", counted_by_the_trainer, &another_ignore_index),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
