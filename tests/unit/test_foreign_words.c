/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that no ranks of this version send, from a transport that is broken: none of them becomes a plausible number. */
#include "support/unit.h"

#include "support/api.h"
#include "tokavg/transport_plugin.h"

/* The second rank of two, made up: it says what the first one says, and adds `more` to one word of a step's message. */
struct other {
  uint64_t *words;
  size_t at;
  uint64_t more;
  uint64_t label_ranks; /* of the handshake */
  int met;
};

/* What two ranks that say v sum to: v, v * place and v * place^2 for the places 1 and 2. */
static void say_by_both(uint64_t *words) {
  words[1] = words[0] * 3;
  words[2] = words[0] * 5;
  words[0] *= 2;
}

static tokavg_status_t other_start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  struct other *other = user;
  say_by_both(words);
  if (other->met) {
    words[other->at] += other->more;
  } else {
    words[6] = other->label_ranks;
    words[7] *= 2; /* which copy of the labels: the first, twice */
    for (int64_t at = 16; at + 3 <= n_words; at += 3) say_by_both(words + at);
  }
  other->met = 1;
  *request_out = other;
  return TOKAVG_OK;
}

static tokavg_status_t other_test(void *user, void *request, int32_t *done_out) {
  (void)user;
  (void)request;
  *done_out = 1;
  return TOKAVG_OK;
}

static tokavg_config_t config_with(tokavg_transport_t *table, struct other *other) {
  *table = (tokavg_transport_t){.struct_size = (uint32_t)sizeof *table,
                                .version = TOKAVG_TRANSPORT_VERSION,
                                .ranks = 2,
                                .user = other,
                                .start = other_start,
                                .test = other_test};
  tokavg_config_t config = api_config();
  config.comm_kind = TOKAVG_COMM_CALLER;
  config.comm = table;
  config.device = TOKAVG_DEVICE_HOST;
  return config;
}

static tokavg_context_t *open_with(struct other *other) {
  tokavg_transport_t table;
  const tokavg_config_t config = config_with(&table, other);
  return api_open(&config);
}

/* Words of a message: 3 and 4 tell who failed, 6 how many are done, 7 how many empty, 8 is the microbatches. */
static void numbers_of_ranks(void **state) {
  (void)state;
  struct other other = {.at = 3, .more = UINT64_C(1) << 32, .label_ranks = 2};
  tokavg_context_t *ctx = open_with(&other);
  /* As an int32_t it would be 0, and the step good. */
  tokavg_ticket_t ticket = 0;
  OK(ctx, tokavg_reduce(ctx, NULL, NULL, &ticket));
  assert_true(tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, NULL) < 0);
  api_free(ctx);

  for (size_t at = 6; at <= 7; at++) {
    other = (struct other){.at = at, .more = UINT64_C(1) << 31, .label_ranks = 2};
    ctx = open_with(&other);
    OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
    const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
    assert_int_equal(at == 6 ? result.done_ranks : result.empty_ranks, INT32_MAX);
    api_free(ctx);
  }
}

static void numbers_of_a_step(void **state) {
  (void)state;
  struct other other = {.at = 8, .more = UINT64_MAX - 1, .label_ranks = 2};
  tokavg_context_t *ctx = open_with(&other);
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_true(result.microbatches == INT64_MAX);
  api_free(ctx);
}

static void more_labels_than_ranks(void **state) {
  (void)state;
  for (uint64_t label_ranks = 3; label_ranks != 0; label_ranks <<= 8) {
    struct other other = {.label_ranks = label_ranks};
    tokavg_transport_t table;
    const tokavg_config_t config = config_with(&table, &other);
    tokavg_context_t *ctx = NULL;
    EXPECT(NULL, tokavg_init(&config, &ctx), TOKAVG_ERR_CONFIG, "ranks hold labels");
    assert_null(ctx);
  }
}

/* Two ranks that keep to the rules: each may record 2^63 - 1 tokens, in two messages. */
static void losses_beyond_any_count(void **state) {
  (void)state;
  const tokavg_config_t config = api_config();
  tokavg_context_t *ctx[2];
  api_open_two(&config, ctx);
  tokavg_ticket_t ticket[2];
  for (int rank = 0; rank < 2; rank++) ticket[rank] = api_reduce(ctx[rank]);
  const double value = 1;
  const int64_t parts[2] = {1, INT64_MAX - 1};
  for (int part = 0; part < 2; part++) {
    const tokavg_loss_t loss = api_value(TOKAVG_LOSS_SUM, &value, parts[part]);
    for (int rank = 0; rank < 2; rank++) OK(ctx[rank], tokavg_loss(ctx[rank], ticket[rank], &loss, NULL));
    for (int rank = 0; rank < 2; rank++) OK(ctx[rank], tokavg_flush(ctx[rank], NULL));
  }
  for (int rank = 0; rank < 2; rank++) {
    OK(ctx[rank], tokavg_progress(ctx[rank]));
    const tokavg_result_t result = api_result(ctx[rank], ticket[rank], TOKAVG_WAIT_LOSS, TOKAVG_EMPTY);
    assert_true(result.loss_tokens[0] == INT64_MAX);
    assert_true((result.flags & TOKAVG_RESULT_AUDIT_FAILED) != 0);
    api_free(ctx[rank]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_ranks), cmocka_unit_test(numbers_of_a_step),
                                     cmocka_unit_test(more_labels_than_ranks),
                                     cmocka_unit_test(losses_beyond_any_count)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
