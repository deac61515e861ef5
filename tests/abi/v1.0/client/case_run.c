/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways to train of the manual: losses scaled before backward, gradients scaled after their reduction. */
#include <stdio.h>

#include "client.h"

static tokavg_array_t array(const void *data, int32_t dtype) {
  return (tokavg_array_t){.data = (void *)(uintptr_t)data, .dtype = dtype, .memory = TOKAVG_MEMORY_HOST};
}

static tokavg_labels_t labels_of(const struct part *part) {
  tokavg_labels_t labels = {.struct_size = sizeof labels, .rows = 1};
  labels.flags = part->same ? TOKAVG_LABELS_SAME_MICROBATCH : 0;
  labels.term = part->term;
  labels.shift = part->shift;
  labels.cols = part->cols;
  labels.labels = array(part->labels, TOKAVG_DTYPE_I64);
  if (part->has_mask) labels.mask = array(part->mask, TOKAVG_DTYPE_U8);
  if (part->has_weights) labels.weights = array(part->weights, TOKAVG_DTYPE_F32);
  return labels;
}

/* Records the losses of a part; returns what to call backward on. */
static double record(tokavg_context_t *ctx, tokavg_ticket_t ticket, const struct part *part) {
  const tokavg_labels_t labels = labels_of(part);
  float backward = -1;
  double sum = -1;
  tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = 1};
  loss.term = part->term;
  loss.cols = part->cols;
  loss.losses = array(part->losses, TOKAVG_DTYPE_F32);
  loss.labels = &labels;
  loss.loss_scale = 2;
  loss.backward_out = &backward;
  loss.sum_out = &sum;
  OK(tokavg_loss(ctx, ticket, &loss, NULL));
  if (ticket == TOKAVG_OPEN) CHECK(close_to(backward, 2 * sum));
  return backward / 2.0;
}

static tokavg_ticket_t reduce(tokavg_context_t *ctx, int32_t done, int64_t step_id) {
  tokavg_ticket_t ticket = 0;
  tokavg_reduce_t options = {.struct_size = sizeof options, .step_id = step_id};
  options.flags = TOKAVG_REDUCE_STEP_ID | (done ? TOKAVG_REDUCE_DONE : 0);
  OK(tokavg_reduce(ctx, &options, NULL, &ticket));
  CHECK(ticket > 0);
  return ticket;
}

static void check_result(tokavg_context_t *ctx, tokavg_ticket_t ticket, const struct contract_case *c,
                         int64_t step_id) {
  const struct expected *expected = &c->expected;
  tokavg_result_t result = {.struct_size = sizeof result};
  CHECK(tokavg_wait(ctx, ticket, TOKAVG_WAIT_LOSS, -1, &result) == expected->status);
  CHECK(result.struct_size == sizeof result && result.ticket == ticket && result.step_id == step_id);
  for (int32_t term = 0; term < (c->terms > 0 ? c->terms : 1); term++) {
    double scale = -1;
    double report = -1;
    double microbatch = -1;
    OK(tokavg_factor(ctx, ticket, term, TOKAVG_FACTOR_SCALE, &scale));
    OK(tokavg_factor(ctx, ticket, term, TOKAVG_FACTOR_REPORT, &report));
    OK(tokavg_factor(ctx, ticket, term, TOKAVG_FACTOR_MICROBATCH, &microbatch));
    const double z = c->divisor == TOKAVG_DIVISOR_WEIGHTS ? expected->weight_sum[term] : (double)expected->tokens[term];
    CHECK(same(scale, expected->factor[term]) && same(result.factor[term], expected->factor[term]));
    CHECK(same(report, z > 0 ? 1 / z : 0) && same(microbatch, expected->microbatch_factor));
    CHECK(result.tokens[term] == expected->tokens[term] && result.loss_tokens[term] == expected->tokens[term]);
    CHECK(same(result.weight_sum[term], expected->weight_sum[term]));
    CHECK(same(result.mean_loss[term], expected->mean_loss[term]));
    CHECK(close_to(result.loss_sum[term], expected->mean_loss[term] * z));
    CHECK(result.nonfinite[term] == 0 && result.invalid_labels[term] == 0);
    CHECK(c->ranks > 1 || result.local_tokens[term] == expected->tokens[term]);
  }
  CHECK(result.microbatches == expected->microbatches);
  CHECK(result.ranks == c->ranks && result.label_ranks == c->ranks);
  CHECK(result.empty_ranks == expected->empty_ranks && result.done_ranks == expected->done_ranks);
  CHECK(result.failed_ranks == 0 && result.first_failed_rank == -1);
  CHECK((result.flags & TOKAVG_RESULT_LOSS_READY) != 0 && (result.flags & TOKAVG_RESULT_AUDIT_FAILED) == 0);
  CHECK(result.audit_ticket == 0 && result.audit_counted == 0 && result.audit_recorded == 0);
  CHECK(result.exposed_seconds >= 0 && result.reduce_seconds >= 0);
}

static void scale_before(tokavg_context_t *ctx, const struct contract_case *c, int32_t rank) {
  double backward[MOST_TERMS] = {0};
  for (int32_t p = 0; p < c->parts[rank]; p++) {
    const tokavg_labels_t labels = labels_of(&c->part[rank][p]);
    OK(tokavg_count(ctx, &labels, NULL));
    if (c->part[rank][p].discard) OK(tokavg_discard(ctx));
  }
  const tokavg_ticket_t ticket = reduce(ctx, 0, 1);
  OK(tokavg_progress(ctx));
  for (int32_t p = 0; p < c->parts[rank]; p++) {
    const struct part *part = &c->part[rank][p];
    if (!part->discard) backward[part->term] += record(ctx, ticket, part);
  }
  OK(tokavg_flush(ctx, NULL));
  struct contract_case running = *c;
  running.expected.done_ranks = 0;
  check_result(ctx, ticket, &running, 1);
  for (int term = 0; term < MOST_TERMS; term++) CHECK(close_to(backward[term], c->expected.backward[rank][term]));
}

/* The gradient of a model whose gradient is its loss. */
static void scale_after(tokavg_context_t *ctx, const struct contract_case *c, int32_t rank) {
  double gradient[MOST_TERMS] = {0};
  for (int32_t p = 0; p < c->parts[rank]; p++) {
    const struct part *part = &c->part[rank][p];
    const tokavg_labels_t labels = labels_of(part);
    OK(tokavg_count(ctx, &labels, NULL));
    const double recorded = record(ctx, TOKAVG_OPEN, part);
    if (part->discard) OK(tokavg_discard(ctx));
    if (!part->discard) gradient[part->term] += recorded;
  }
  const tokavg_ticket_t ticket = reduce(ctx, c->done[rank], 2);
  check_result(ctx, ticket, c, 2);
  for (int32_t term = 0; term < (c->terms > 0 ? c->terms : 1); term++) {
    const tokavg_scale_item_t item = {&gradient[term], 1, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_HOST};
    tokavg_scale_t scale = {.struct_size = sizeof scale, .item_size = sizeof item, .items = &item, .n_items = 1};
    scale.term = term;
    scale.kind = TOKAVG_FACTOR_SCALE;
    scale.factor = 0.5;
    OK(tokavg_scale(ctx, ticket, &scale, NULL));
    CHECK(close_to(gradient[term], c->expected.backward[rank][term] / 2));
  }
}

void run_cases(const struct member *member) {
  for (int i = 0; i < n_cases; i++) {
    const struct contract_case *c = &cases[i];
    if (c->ranks != member->ranks) continue;
    tokavg_config_t config = base_config(member);
    config.gradient_reduction = c->reduction;
    config.divisor = c->divisor;
    config.terms = c->terms;
    config.accumulation_divisor = c->accumulation_divisor;
    config.ignore_index = c->ignore_index;
    const int before = failures();
    tokavg_context_t *ctx = open_context(&config);
    if (ctx == NULL) continue;
    scale_before(ctx, c, member->rank);
    scale_after(ctx, c, member->rank);
    close_context(ctx);
    if (failures() > before) fprintf(stderr, "... in the case %s\n", c->id);
  }
}
