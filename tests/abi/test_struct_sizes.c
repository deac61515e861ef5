/* SPDX-License-Identifier: Apache-2.0 */
/* Every struct of the interface, from callers of the past and of the future: each size that ends with a field, one byte
   less, and longer ones. The struct lies against a page that may not be touched, so that no byte beyond its size is
   read or written. */
#define _GNU_SOURCE
#include "support/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "struct_ends.h"
#include "support/api.h"
#include "tokavg/transport_plugin.h"

enum { ROOM = 65536, SLACK_BYTE = 0x5a };

static unsigned char *room;                       /* ROOM bytes, then the page */
static uint32_t slack;                            /* bytes between the struct and the page, which alignment asks for */
static const int32_t labels[4] = {1, 2, -100, 3}; /* 3 of them are scored */
static float gradient = 6;

/* A call that is given a struct of the caller's. */
struct use {
  const char *argument; /* its name in texts */
  const char *type;
  void (*fill)(void *whole);
  tokavg_status_t (*call)(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size);
  const char *size_word;
  int marks;       /* a failure marks the open step */
  int no_context;  /* the text is this thread's */
  int output_only; /* what was in it before does not matter */
};

static void fill_config(void *whole) { *(tokavg_config_t *)whole = api_config(); }

static tokavg_status_t made(const tokavg_config_t *config) {
  tokavg_context_t *ctx = NULL;
  const tokavg_status_t status = tokavg_init(config, &ctx);
  if (status == TOKAVG_OK) api_free(ctx);
  if (status != TOKAVG_OK) assert_null(ctx);
  return status;
}

static tokavg_status_t use_config(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ctx, (void)ticket, (void)size;
  return made(theirs);
}

static tokavg_status_t use_config_init(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ctx, (void)ticket;
  const tokavg_status_t status = tokavg_config_init(theirs, size);
  if (status == TOKAVG_OK) {
    tokavg_config_t expected = {.struct_size = size, .device_index = -1, .ignore_index = -100};
    const size_t known = size < sizeof expected ? size : sizeof expected;
    assert_memory_equal(theirs, &expected, known);
    api_untouched((unsigned char *)theirs + known, 0, size - known);
  }
  return status;
}

static tokavg_status_t start(void *user, uint64_t *words, int64_t n_words, void **request_out) {
  (void)user, (void)words, (void)n_words;
  *request_out = NULL;
  return TOKAVG_OK;
}

static tokavg_status_t test(void *user, void *request, int32_t *done_out) {
  (void)user, (void)request;
  *done_out = 1;
  return TOKAVG_OK;
}

static void fill_table(void *whole) {
  *(tokavg_transport_t *)whole =
      (tokavg_transport_t){.version = TOKAVG_TRANSPORT_VERSION, .ranks = 1, .start = start, .test = test};
}

static tokavg_status_t use_table(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ctx, (void)ticket, (void)size;
  tokavg_config_t config = api_config();
  config.comm_kind = TOKAVG_COMM_CALLER;
  config.comm = theirs;
  return made(&config);
}

static void fill_labels(void *whole) { *(tokavg_labels_t *)whole = api_labels(labels, 2, 2); }

static tokavg_status_t use_labels(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ticket, (void)size;
  const tokavg_status_t status = tokavg_count(ctx, theirs, NULL);
  if (status == TOKAVG_OK) {
    assert_int_equal(api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK).tokens[0], 3);
  }
  return status;
}

static tokavg_status_t use_loss_labels(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ticket, (void)size;
  static const float losses[4] = {1, 2, 4, 8};
  double sum = -1;
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = 2, .cols = 2};
  loss.losses = api_array(losses, TOKAVG_DTYPE_F32);
  loss.labels = theirs;
  loss.sum_out = &sum;
  const tokavg_status_t status = tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL);
  assert_true(sum == (status == TOKAVG_OK ? 11 : -1));
  return status;
}

static void fill_loss(void *whole) {
  static const double value = 12;
  *(tokavg_loss_t *)whole = api_value(TOKAVG_LOSS_SUM, &value, 3);
}

static tokavg_status_t use_loss(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ticket, (void)size;
  return tokavg_loss(ctx, TOKAVG_OPEN, theirs, NULL);
}

static tokavg_labels_t none;
static void fill_ce(void *whole) {
  none = api_labels(NULL, 0, 0);
  *(tokavg_cross_entropy_t *)whole = (tokavg_cross_entropy_t){.labels = &none, .vocab = 2};
}

static tokavg_status_t use_ce(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ticket, (void)size;
  return tokavg_cross_entropy(ctx, TOKAVG_OPEN, theirs, NULL);
}

static tokavg_status_t use_ce_labels(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ticket, (void)size;
  static const float logits[4][4]; /* of label 3 at most */
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = 4, .labels = theirs};
  ce.logits = api_array(logits, TOKAVG_DTYPE_F32);
  return tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL);
}

static tokavg_scale_item_t item_of_gradient(void) {
  return (tokavg_scale_item_t){.data = &gradient, .count = 1, .dtype = TOKAVG_DTYPE_F32};
}

static void fill_scale(void *whole) {
  static tokavg_scale_item_t item;
  item = item_of_gradient();
  *(tokavg_scale_t *)whole = (tokavg_scale_t){
      .item_size = (uint32_t)sizeof item, .items = &item, .n_items = 1, .kind = TOKAVG_FACTOR_SCALE, .factor = 2};
}

/* The ticket holds 4 tokens. */
static tokavg_status_t scaled(tokavg_context_t *ctx, tokavg_ticket_t ticket, const tokavg_scale_t *scale) {
  gradient = 6;
  const tokavg_status_t status = tokavg_scale(ctx, ticket, scale, NULL);
  assert_true(gradient == (status == TOKAVG_OK ? 3 : 6));
  return status;
}

static tokavg_status_t use_scale(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)size;
  return scaled(ctx, ticket, theirs);
}

static void fill_item(void *whole) { *(tokavg_scale_item_t *)whole = item_of_gradient(); }

static tokavg_status_t use_item(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  tokavg_scale_t scale;
  fill_scale(&scale);
  scale.struct_size = (uint32_t)sizeof scale;
  scale.item_size = size;
  scale.items = theirs;
  return scaled(ctx, ticket, &scale);
}

static void fill_nothing(void *whole) { (void)whole; }

static tokavg_status_t use_reduce(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  (void)ticket, (void)size;
  tokavg_ticket_t newest = 0;
  const tokavg_status_t status = tokavg_reduce(ctx, theirs, NULL, &newest);
  assert_true(newest > 0); /* also when it fails: that ticket has failed */
  if (status < 0) assert_int_equal(tokavg_wait(ctx, newest, TOKAVG_WAIT_COUNT, -1, NULL), status);
  return status;
}

static tokavg_status_t use_result(tokavg_context_t *ctx, tokavg_ticket_t ticket, void *theirs, uint32_t size) {
  const tokavg_status_t status = tokavg_wait(ctx, ticket, TOKAVG_WAIT_COUNT, -1, theirs);
  if (status == TOKAVG_OK) {
    tokavg_result_t read = {0};
    const size_t known = size < sizeof read ? size : sizeof read;
    memcpy(&read, theirs, known);
    assert_int_equal(read.struct_size, size);
    assert_int_equal(read.ticket, ticket);
    assert_int_equal(read.tokens[0], 4);
    api_untouched((unsigned char *)theirs + known, 0, size - known);
  }
  return status;
}

#define SIZE "struct_size is"
static const struct use uses[] = {
    {"config", "tokavg_config_t", fill_config, use_config, SIZE, 0, 1, 0},
    {"tokavg_config_t", "tokavg_config_t", fill_nothing, use_config_init, SIZE, 0, 1, 1},
    {"config.comm", "tokavg_transport_t", fill_table, use_table, SIZE, 0, 1, 0},
    {"labels", "tokavg_labels_t", fill_labels, use_labels, SIZE, 1, 0, 0},
    {"loss.labels", "tokavg_labels_t", fill_labels, use_loss_labels, SIZE, 1, 0, 0},
    {"ce.labels", "tokavg_labels_t", fill_labels, use_ce_labels, SIZE, 1, 0, 0},
    {"loss", "tokavg_loss_t", fill_loss, use_loss, SIZE, 1, 0, 0},
    {"ce", "tokavg_cross_entropy_t", fill_ce, use_ce, SIZE, 1, 0, 0},
    {"scale", "tokavg_scale_t", fill_scale, use_scale, SIZE, 1, 0, 0},
    {"scale.item", "tokavg_scale_item_t", fill_item, use_item, "item_size is", 1, 0, 0},
    {"options", "tokavg_reduce_t", fill_nothing, use_reduce, SIZE, 0, 0, 0},
    {"result_out", "tokavg_result_t", fill_nothing, use_result, SIZE, 0, 0, 1},
};
enum { N_USES = sizeof uses / sizeof *uses, N_STRUCTS = sizeof all_struct_ends / sizeof *all_struct_ends };

/* A struct of `size` bytes, or of as many as today where it says more than any struct may have. */
static unsigned char *place(const struct use *use, uint32_t size, uint32_t today) {
  const uint32_t bytes = size <= ROOM ? size : today;
  uint64_t whole[256] = {0};
  use->fill(whole);
  slack = (8 - bytes % 8) % 8;
  if (bytes < 4) slack += 8; /* the size itself is always there */
  unsigned char *theirs = room + ROOM - slack - bytes;
  memset(theirs, 0, bytes);
  memcpy(theirs, whole, bytes < today ? bytes : today);
  memset(theirs + bytes, SLACK_BYTE, slack);
  if (use->call != use_item) memcpy(theirs, &size, sizeof size);
  return theirs;
}

static void check_status(tokavg_context_t *ctx, const struct use *use, tokavg_status_t got, tokavg_status_t status,
                         uint32_t size, uint32_t set) {
  char word[64];
  if (got != status) print_error("%s of %u bytes, byte %u set:\n", use->argument, size, set);
  if (status == TOKAVG_ERR_ARGUMENT) {
    snprintf(word, sizeof word, "%s %u", use->size_word, size);
    EXPECT(ctx, got, status, use->argument, word, "sizeof");
  } else if (status == TOKAVG_ERR_UNSUPPORTED) {
    snprintf(word, sizeof word, "has byte %u set", set);
    EXPECT(ctx, got, status, use->argument, word, "does not know; zero it");
  } else {
    OK(ctx, got);
  }
}

/* Uses it with byte number `set` (0: none) not zero, on a ticket that holds 4 tokens. */
static void try_size(const struct use *use, const struct_ends_t *ends, uint32_t size, uint32_t set,
                     tokavg_status_t status) {
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  unsigned char *theirs = place(use, size, ends->size);
  if (set != 0) theirs[set] = 1;
  check_status(use->no_context ? NULL : ctx, use, use->call(ctx, ticket, theirs, size), status, size, set);
  if (size >= 4) api_untouched(room + ROOM - slack, SLACK_BYTE, slack);
  const tokavg_ticket_t open_step = api_reduce(ctx);
  if (use->marks && status != TOKAVG_OK) (void)api_result(ctx, open_step, TOKAVG_WAIT_COUNT, status);
  api_still_works(ctx);
  api_free(ctx);
}

static const struct_ends_t *ends_of(const struct use *use) {
  for (int i = 0; i < N_STRUCTS; i++) {
    if (strcmp(all_struct_ends[i].name, use->type) == 0) return &all_struct_ends[i];
  }
  fail_msg("%s is not in layout.json", use->type);
  return NULL;
}

static void every_struct_is_used(void **state) {
  (void)state;
  for (int i = 0; i < N_STRUCTS; i++) {
    /* The library writes this one and a plugin reads it: tests/rank/plugin_check.c. */
    int used = strcmp(all_struct_ends[i].name, "tokavg_transport_options_t") == 0;
    for (int u = 0; u < N_USES; u++) used |= strcmp(all_struct_ends[i].name, uses[u].type) == 0;
    if (!used) fail_msg("%s: add the calls that are given one to `uses`", all_struct_ends[i].name);
  }
}

/* Shorter than in the version that brought it: there was never such a caller. Otherwise what is missing is zero. */
static void older_callers(void **state) {
  (void)state;
  for (int u = 0; u < N_USES; u++) {
    const struct_ends_t *ends = ends_of(&uses[u]);
    try_size(&uses[u], ends, 0, 0, TOKAVG_ERR_ARGUMENT);
    for (uint32_t i = 0; i < ends->n_ends; i++) {
      for (uint32_t size = ends->ends[i] - 1; size <= ends->ends[i]; size++) {
        try_size(&uses[u], ends, size, 0, size < ends->shortest ? TOKAVG_ERR_ARGUMENT : TOKAVG_OK);
      }
    }
  }
}

static void newer_callers(void **state) {
  (void)state;
  for (int u = 0; u < N_USES; u++) {
    const struct_ends_t *ends = ends_of(&uses[u]);
    const tokavg_status_t tail = uses[u].output_only ? TOKAVG_OK : TOKAVG_ERR_UNSUPPORTED;
    const uint32_t sizes[] = {ends->size + 1, ends->size + 8, ends->size + 29, ROOM};
    for (int i = 0; i < 4; i++) {
      try_size(&uses[u], ends, sizes[i], 0, TOKAVG_OK);
      try_size(&uses[u], ends, sizes[i], ends->size, tail);
      try_size(&uses[u], ends, sizes[i], sizes[i] - 1, tail);
    }
    /* Memory that nobody has initialised. */
    try_size(&uses[u], ends, ROOM + 1, 0, TOKAVG_ERR_ARGUMENT);
    try_size(&uses[u], ends, UINT32_MAX, 0, TOKAVG_ERR_ARGUMENT);
  }
}

static int make_room(void **state) {
  (void)state;
  const size_t page = 65536; /* a multiple of every page size */
  room = mmap(NULL, ROOM + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room == MAP_FAILED ? -1 : mprotect(room + ROOM, page, PROT_NONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_struct_is_used),
      cmocka_unit_test(older_callers),
      cmocka_unit_test(newer_callers),
  };
  return cmocka_run_group_tests(tests, make_room, NULL);
}
