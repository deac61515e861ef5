/* SPDX-License-Identifier: Apache-2.0 */
/* A caller's table: what is refused, whose the words are, and how its statuses reach the user. */
#include "support/unit.h"

#include <string.h>

#include "support/internal_transport.h"
#include "tokavg/transport_plugin.h"

/* A table that doubles every word, as two equal ranks would, and notes what is asked of it. */
struct fake {
  tokavg_status_t start_status, test_status, cancel_status;
  int32_t done;
  uint64_t *words; /* what the latest start was given */
  int64_t n_words;
  int gone; /* the request must not be used any more */
  int used_when_gone, cancels, closes, collective, aborts, lists;
  int32_t late[8], n_late;
  const char *state;
};

static tokavg_status_t fake_start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  struct fake *fake = user;
  fake->words = words;
  fake->n_words = n_words;
  fake->gone = 0;
  *request_out = &fake->words;
  return fake->start_status;
}

static void touch(struct fake *fake, const void *request) {
  if (fake->gone || request != &fake->words) fake->used_when_gone++;
}

static tokavg_status_t fake_test(void *user, void *request, int32_t *done_out) {
  struct fake *fake = user;
  touch(fake, request);
  for (int64_t i = 0; fake->done && i < fake->n_words; ++i) fake->words[i] *= 2;
  *done_out = fake->done;
  fake->gone = fake->done || fake->test_status != TOKAVG_OK;
  return fake->test_status;
}

static tokavg_status_t fake_cancel(void *user, void *request) {
  struct fake *fake = user;
  touch(fake, request);
  fake->cancels++;
  fake->gone = 1;
  return fake->cancel_status;
}

static tokavg_status_t fake_late_ranks(void *user, void *request, int32_t *ranks_out, int32_t capacity,
                                       int32_t *count_out) {
  struct fake *fake = user;
  touch(fake, request);
  fake->lists++;
  for (int32_t i = 0; i < fake->n_late && i < capacity; ++i) ranks_out[i] = fake->late[i];
  *count_out = fake->n_late;
  return TOKAVG_OK;
}

static tokavg_status_t fake_abort(void *user) {
  ((struct fake *)user)->aborts++;
  return TOKAVG_ERR_TRANSPORT; /* of no consequence */
}

static tokavg_status_t fake_describe(void *user, void *request, char *text_out, int64_t capacity) {
  struct fake *fake = user;
  if (request != NULL) touch(fake, request);
  strncpy(text_out, request == NULL ? fake->state : "waits for a \"friend\"", (size_t)capacity);
  return TOKAVG_OK;
}

/* Words that were not given back may be written to until close has returned. */
static void fake_close(void *user, int32_t collective) {
  struct fake *fake = user;
  fake->closes++;
  fake->collective = collective;
  if (fake->words != NULL && !fake->cancels) fake->words[fake->n_words - 1] = 77;
}

static tokavg_transport_t fake_table(struct fake *fake) {
  memset(fake, 0, sizeof *fake);
  fake->state = "{\"a\":1}";
  const tokavg_transport_t table = {sizeof table,
                                    TOKAVG_TRANSPORT_VERSION,
                                    1,
                                    4,
                                    0,
                                    0,
                                    fake,
                                    fake_start,
                                    fake_test,
                                    fake_cancel,
                                    fake_late_ranks,
                                    fake_abort,
                                    fake_describe,
                                    fake_close};
  return table;
}

static internal_fault_t fault;

static internal_transport_t *open_table(const void *table) {
  return internal_open(TOKAVG_COMM_CALLER, table, 0, TOKAVG_PROGRESS_AUTO, "", &fault);
}

static internal_transport_t *must_open(const void *table) {
  internal_transport_t *transport = open_table(table);
  if (transport == NULL) fail_msg("refused: %s", fault.text);
  return transport;
}

static void refuses(const void *table, tokavg_status_t status, const char *text) {
  assert_null(open_table(table));
  assert_int_equal(fault.status, status);
  if (strstr(fault.text, text) == NULL) fail_msg("\"%s\" lacks \"%s\"", fault.text, text);
}

static void bad_tables_are_refused(void **state) {
  (void)state;
  struct fake fake;
  refuses(NULL, TOKAVG_ERR_CONFIG, "config.comm is NULL");
  tokavg_transport_t table = fake_table(&fake);
  table.version = 2;
  refuses(&table, TOKAVG_ERR_UNSUPPORTED, "version is 2");
  table = fake_table(&fake);
  table.reserved = 1;
  refuses(&table, TOKAVG_ERR_UNSUPPORTED, "reserved");
  table = fake_table(&fake);
  table.ranks = 0;
  refuses(&table, TOKAVG_ERR_CONFIG, "ranks is 0");
  table = fake_table(&fake);
  table.rank = 4;
  refuses(&table, TOKAVG_ERR_CONFIG, "rank is 4; it has to be 0 to ranks - 1 = 3");
  table.rank = -1;
  refuses(&table, TOKAVG_ERR_CONFIG, "rank is -1");
  table = fake_table(&fake);
  table.start = NULL;
  refuses(&table, TOKAVG_ERR_CONFIG, "start is NULL");
  table = fake_table(&fake);
  table.test = NULL;
  refuses(&table, TOKAVG_ERR_CONFIG, "test is NULL");
  table = fake_table(&fake);
  table.struct_size = offsetof(tokavg_transport_t, test);
  refuses(&table, TOKAVG_ERR_ARGUMENT, "struct_size");
  table = fake_table(&fake);
  assert_null(internal_open(TOKAVG_COMM_CALLER, &table, 0, TOKAVG_PROGRESS_THREAD, "", &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_UNSUPPORTED);
  assert_int_equal(fake.closes, 0); /* a refused table stays the caller's */
  table.capabilities = TOKAVG_TRANSPORT_CAN_PROGRESS;
  internal_transport_t *transport = internal_open(TOKAVG_COMM_CALLER, &table, 0, TOKAVG_PROGRESS_THREAD, "", &fault);
  assert_non_null(transport);
  internal_free(transport);
}

/* A newer table may be longer, as long as it is zero there. */
static void newer_tables_are_longer(void **state) {
  (void)state;
  struct fake fake;
  struct {
    tokavg_transport_t table;
    uint64_t tail;
  } longer = {fake_table(&fake), 0};
  longer.table.struct_size = sizeof longer;
  internal_free(must_open(&longer));
  assert_int_equal(fake.closes, 1);
  longer.tail = 1;
  refuses(&longer, TOKAVG_ERR_UNSUPPORTED, "config.comm");
}

static void the_sum_arrives_when_it_is_done(void **state) {
  (void)state;
  struct fake fake;
  const tokavg_transport_t table = fake_table(&fake);
  internal_transport_t *transport = must_open(&table);
  assert_int_equal(internal_rank(transport), 1);
  assert_int_equal(internal_ranks(transport), 4);
  uint64_t words[3] = {1, 2, UINT64_C(1) << 63};
  internal_sum_in_flight_t *sum = internal_start(transport, words, 3, &fault);
  assert_non_null(sum);
  assert_ptr_not_equal(fake.words, words); /* the caller's table may outlive the core's interest in them */
  assert_int_equal(internal_test(sum, &fault), 0);
  char text[64];
  internal_describe_sum(sum, text, sizeof text);
  assert_string_equal(text, "waits for a \"friend\"");
  assert_int_equal(words[0], 1);
  fake.done = 1;
  assert_int_equal(internal_test(sum, &fault), 1);
  assert_int_equal(words[0], 2);
  assert_int_equal(words[1], 4);
  assert_int_equal(words[2], 0);
  assert_int_equal(internal_test(sum, &fault), 1); /* does not ask again */
  assert_int_equal(internal_late_ranks(sum, NULL, 0), 0);
  internal_drop(sum);
  assert_int_equal(fake.cancels + fake.lists + fake.used_when_gone, 0);
  fake.words = NULL;
  internal_free(transport);
}

/* A sum that is dropped: with cancel its words are gone at once, otherwise they live until close (seen by ASan). */
static void dropped_words_live_long_enough(void **state) {
  (void)state;
  struct fake fake;
  for (int variant = 0; variant < 3; ++variant) {
    tokavg_transport_t table = fake_table(&fake);
    if (variant == 1) table.cancel = NULL;
    if (variant == 2) fake.cancel_status = TOKAVG_ERR_TRANSPORT; /* who knows whether it let go */
    internal_transport_t *transport = must_open(&table);
    uint64_t words[2] = {5, 6};
    internal_drop(internal_start(transport, words, 2, &fault));
    assert_int_equal(fake.cancels, variant == 1 ? 0 : 1);
    if (variant > 0) fake.words[0] = 99;
    internal_close(transport);
    internal_free(transport);
    assert_int_equal(fake.closes, 1);
    assert_int_equal(fake.used_when_gone, 0);
    assert_int_equal(words[0] * 10 + words[1], 56);
  }
}

static void errors_of_test_are_final(void **state) {
  (void)state;
  static const struct {
    tokavg_status_t given, seen;
    const char *text;
  } cases[] = {
      {TOKAVG_ERR_ABORTED, TOKAVG_ERR_ABORTED, "test of the caller transport returned -12 (TOKAVG_ERR_ABORTED)"},
      {-99, TOKAVG_ERR_TRANSPORT, "-99"},
      {TOKAVG_PENDING, TOKAVG_ERR_TRANSPORT, "test of the caller transport returned 1 "}};
  struct fake fake;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    const tokavg_transport_t table = fake_table(&fake);
    internal_transport_t *transport = must_open(&table);
    uint64_t word = 3;
    internal_sum_in_flight_t *sum = internal_start(transport, &word, 1, &fault);
    fake.test_status = cases[i].given;
    for (int again = 0; again < 2; ++again) {
      assert_int_equal(internal_test(sum, &fault), 0);
      assert_int_equal(fault.status, cases[i].seen);
      if (strstr(fault.text, cases[i].text) == NULL) fail_msg("%s", fault.text);
    }
    assert_int_equal(internal_late_ranks(sum, NULL, 0), 0);
    char text[256];
    internal_describe_sum(sum, text, sizeof text);
    internal_drop(sum);
    assert_int_equal(fake.used_when_gone + fake.cancels, 0);
    fake.words[0] = 1; /* an error does not give the words back */
    internal_free(transport);
    assert_int_equal(word, 3);
  }
}

static void errors_of_start_are_reported(void **state) {
  (void)state;
  struct fake fake;
  const tokavg_transport_t table = fake_table(&fake);
  internal_transport_t *transport = must_open(&table);
  uint64_t words[1] = {3};
  fake.start_status = TOKAVG_ERR_MEMORY;
  assert_null(internal_start(transport, words, 1, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_MEMORY);
  assert_non_null(strstr(fault.text, "start of the caller transport"));
  fake.start_status = 7;
  assert_null(internal_start(transport, words, 1, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_TRANSPORT);
  assert_null(internal_start(transport, words, 0, &fault));
  assert_null(internal_start(transport, words, 4097, &fault));
  assert_int_equal(fault.status, TOKAVG_ERR_INTERNAL);
  internal_free(transport);
  assert_int_equal(fake.cancels, 0);
}

static void late_ranks_are_put_in_order(void **state) {
  (void)state;
  struct fake fake;
  tokavg_transport_t table = fake_table(&fake);
  internal_transport_t *transport = must_open(&table);
  uint64_t word = 1;
  internal_sum_in_flight_t *sum = internal_start(transport, &word, 1, &fault);
  const int32_t given[] = {3, 0, 3, -1};
  memcpy(fake.late, given, sizeof given);
  fake.n_late = 9; /* more than there are ranks: the first `capacity` are there */
  int32_t late[4] = {-1, -1, -1, -1};
  for (int again = 0; again < 2; ++again) {
    assert_int_equal(internal_late_ranks(sum, late, 4), 2);
    assert_int_equal(late[0], 0);
    assert_int_equal(late[1], 3);
  }
  assert_int_equal(fake.lists, 1);
  internal_drop(sum);
  internal_free(transport);

  table = fake_table(&fake);
  table.late_ranks = NULL;
  transport = must_open(&table);
  sum = internal_start(transport, &word, 1, &fault);
  assert_int_equal(internal_late_ranks(sum, late, 4), 0);
  internal_drop(sum);
  internal_free(transport);
}

static void close_is_called_once(void **state) {
  (void)state;
  struct fake fake;
  tokavg_transport_t table = fake_table(&fake);
  internal_transport_t *transport = must_open(&table);
  internal_close(transport);
  internal_close(transport);
  internal_free(transport);
  assert_int_equal(fake.closes, 1);
  assert_int_equal(fake.collective, 1);
  table = fake_table(&fake);
  internal_free(must_open(&table));
  assert_int_equal(fake.closes, 1);
  assert_int_equal(fake.collective, 0);
}

static void abort_is_passed_on(void **state) {
  (void)state;
  struct fake fake;
  tokavg_transport_t table = fake_table(&fake);
  internal_transport_t *transport = must_open(&table);
  assert_false(internal_abort_from_any_thread(transport));
  internal_abort(transport);
  assert_int_equal(fake.aborts, 1);
  internal_free(transport);
  table.abort = NULL;
  table.capabilities = TOKAVG_TRANSPORT_CAN_ANY_THREAD;
  transport = must_open(&table);
  assert_true(internal_abort_from_any_thread(transport));
  internal_abort(transport);
  assert_int_equal(fake.aborts, 1);
  internal_free(transport);
}

static void the_description_is_always_json(void **state) {
  (void)state;
  static const char *const states[][2] = {{"{\"a\":1}", "\"state\":{\"a\":1}}"},
                                          {"say \"hi\"", "\"state\":\"say \\\"hi\\\"\"}"},
                                          {"", "\"progress\":false}"},
                                          {"a\xe9", "\"state\":\"a\xef\xbf\xbd\"}"}};
  struct fake fake;
  for (size_t i = 0; i < sizeof states / sizeof *states; ++i) {
    const tokavg_transport_t table = fake_table(&fake);
    internal_transport_t *transport = must_open(&table);
    fake.state = states[i][0];
    char text[512];
    internal_describe_transport(transport, text, sizeof text);
    assert_true(internal_is_json_object(text));
    if (strstr(text, states[i][1]) == NULL) fail_msg("%s", text);
    internal_free(transport);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_tables_are_refused),
      cmocka_unit_test(newer_tables_are_longer),
      cmocka_unit_test(the_sum_arrives_when_it_is_done),
      cmocka_unit_test(dropped_words_live_long_enough),
      cmocka_unit_test(errors_of_test_are_final),
      cmocka_unit_test(errors_of_start_are_reported),
      cmocka_unit_test(late_ranks_are_put_in_order),
      cmocka_unit_test(close_is_called_once),
      cmocka_unit_test(abort_is_passed_on),
      cmocka_unit_test(the_description_is_always_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
