/* SPDX-License-Identifier: Apache-2.0 */
/* Values out of range: the status of the header and a text that names the argument, its value and what is accepted. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/api.h"

static const int32_t some_labels[4] = {1, 2, -100, 3};
static const float some_losses[4] = {1, 2, 3, 4};

/* What a context on the host says to GPU memory: with CUDA in the build it could be another one. */
static tokavg_status_t no_gpu_memory(void) {
  static char text[16384];
  assert_int_equal(tokavg_describe(NULL, text, (int64_t)sizeof text, NULL), TOKAVG_OK);
  return strstr(text, "\"cuda\": true") != NULL ? TOKAVG_ERR_UNSUPPORTED : TOKAVG_ERR_NOT_BUILT;
}

/* A bad call marks the open step: closes it and goes on. */
static void next_step(tokavg_context_t *ctx, tokavg_status_t status) {
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, status);
}

#define BAD_COUNT(status, change, ...)                                  \
  do {                                                                  \
    tokavg_labels_t labels = api_labels(some_labels, 2, 2);             \
    change;                                                             \
    EXPECT(ctx, tokavg_count(ctx, &labels, NULL), status, __VA_ARGS__); \
    next_step(ctx, status);                                             \
  } while (0)

static void shapes(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.rows = -1, "labels has rows -1", "must be >= 0");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.cols = -7, "cols -7", "must be >= 0");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.shift = -1, "labels.shift is -1", "must be >= 0");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, (labels.rows = INT64_C(1) << 32, labels.cols = INT64_C(1) << 31), "labels",
            "4294967296", "2147483648", "below 2^63");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, (labels.rows = INT64_MAX, labels.cols = INT64_MAX), "labels", "below 2^63");
  /* The product fits, the bytes do not. */
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, (labels.rows = INT64_C(1) << 31, labels.cols = INT64_C(1) << 31), "labels.labels",
            "beyond 2^63", "check the shape");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.row_stride = INT64_MAX / 2, "labels.labels", "4611686018427387903");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.col_stride = INT64_MIN, "labels.labels", "-9223372036854775808");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.row_stride = -(INT64_C(1) << 62), "labels.labels", "beyond 2^63");
  /* Each end alone is too far away, though their sum is not. */
  BAD_COUNT(TOKAVG_ERR_ARGUMENT,
            (labels.labels.row_stride = INT64_C(1) << 62, labels.labels.col_stride = -(INT64_C(1) << 62)),
            "labels.labels", "beyond 2^63");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.data = NULL, "labels.labels.data is NULL", "rows is 2");
  tokavg_labels_t none = api_labels(NULL, 0, 5);
  OK(ctx, tokavg_count(ctx, &none, NULL));
  none = api_labels(NULL, INT64_MAX, 0);
  OK(ctx, tokavg_count(ctx, &none, NULL));
  const tokavg_loss_t nothing = {
      .struct_size = (uint32_t)sizeof nothing, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = INT64_MAX};
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &nothing, NULL));
  next_step(ctx, TOKAVG_EMPTY);
  api_still_works(ctx);
  api_free(ctx);
}

/* Of a single row, or of none, the stride is never used. In bytes it would be beyond any integer: sanitizers look. */
static void strides_that_lead_nowhere(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  tokavg_labels_t labels = api_labels(some_labels, 1, 4);
  labels.labels.row_stride = INT64_MAX;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const float weights[4] = {1, 1, 1, 1};
  labels.weights = api_array(weights, TOKAVG_DTYPE_F32);
  labels.weights.row_stride = INT64_MIN;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  labels = api_labels(some_labels, 4, 1);
  labels.labels.row_stride = 1;
  labels.labels.col_stride = INT64_MAX;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const tokavg_result_t result = api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_OK);
  assert_int_equal(result.tokens[0], 9);
  api_free(ctx);
}

static void label_fields(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  static const float weights[4] = {1, 1, 1, 1};
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.dtype = 0, "labels.labels.dtype is 0 (unset)", "I32, I64");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.dtype = TOKAVG_DTYPE_F32, "labels.labels.dtype is 4 (F32)", "I32, I64");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.dtype = 99, "labels.labels.dtype is 99 (unknown)", "I32, I64");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.dtype = -1, "labels.labels.dtype is -1");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.memory = 3, "labels.labels", "memory is 3", "_HOST");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.labels.memory = -1, "labels.labels", "memory is -1");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.mask = api_array(some_labels, TOKAVG_DTYPE_I32), "labels.mask.dtype", "U8");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.weights = api_array(weights, TOKAVG_DTYPE_BF16), "labels.weights.dtype",
            "F32, F64");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.term = 1, "labels.term is 1", "config.terms is 1");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.term = -1, "labels.term is -1");
  BAD_COUNT(TOKAVG_ERR_ARGUMENT, labels.label_base = 2, "labels.label_base is 2", "0 or 1");
  BAD_COUNT(TOKAVG_ERR_UNSUPPORTED, labels.flags = 2, "labels.flags is 0x2", "SAME_MICROBATCH");
  BAD_COUNT(TOKAVG_ERR_UNSUPPORTED, labels.flags = 0x80000001, "labels.flags is 0x80000001");
  api_still_works(ctx);
  api_free(ctx);
}

static void count_add(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  EXPECT(ctx, tokavg_count_add(ctx, 1, 1, 0, 1), TOKAVG_ERR_ARGUMENT, "term is 1", "config.terms is 1");
  next_step(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_count_add(ctx, 0, -4, 0, 1), TOKAVG_ERR_ARGUMENT, "tokens is -4", ">= 0");
  next_step(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_count_add(ctx, 0, 4, 0, -1), TOKAVG_ERR_ARGUMENT, "microbatches is -1", "2^32 - 1");
  next_step(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_count_add(ctx, 0, 4, 0, INT64_C(1) << 32), TOKAVG_ERR_ARGUMENT, "microbatches is 4294967296");
  next_step(ctx, TOKAVG_ERR_ARGUMENT);
  EXPECT(ctx, tokavg_count_add(ctx, 0, 0, 1.5, 1), TOKAVG_ERR_ARGUMENT, "weight_sum is 1.5", "tokens is 0");
  next_step(ctx, TOKAVG_ERR_ARGUMENT);
  api_still_works(ctx);
  api_free(ctx);
}

static tokavg_loss_t token_losses(void) {
  tokavg_loss_t loss = {.struct_size = (uint32_t)sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .rows = 2, .cols = 2};
  loss.losses = api_array(some_losses, TOKAVG_DTYPE_F32);
  return loss;
}

/* Neither output is written and the losses are not recorded. */
#define BAD_LOSS(status, change, ...)                                             \
  do {                                                                            \
    tokavg_loss_t loss = token_losses();                                          \
    double outputs[2];                                                            \
    memset(outputs, 0x5a, sizeof outputs);                                        \
    loss.backward_out = &outputs[0];                                              \
    loss.sum_out = &outputs[1];                                                   \
    change;                                                                       \
    EXPECT(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &loss, NULL), status, __VA_ARGS__); \
    api_untouched(outputs, 0x5a, sizeof outputs);                                 \
    next_step(ctx, status);                                                       \
  } while (0)

static void losses(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const float scale = 1;
  tokavg_labels_t labels = api_labels(some_labels, 2, 2);
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.kind = 0, "loss.kind is 0", "TOKAVG_LOSS_");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.kind = 4, "loss.kind is 4", "TOKAVG_LOSS_");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.term = 1, "loss.term is 1", "config.terms is 1");
  BAD_LOSS(TOKAVG_ERR_UNSUPPORTED, loss.reserved = 1, "loss.reserved is 1", "zero it");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.rows = -2, "loss has rows -2", ">= 0");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, (loss.rows = INT64_MAX, loss.cols = 2), "loss has rows", "below 2^63");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.losses.data = NULL, "loss.losses.data is NULL");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.losses.dtype = 0, "loss.losses.dtype is 0", "F32, F64");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.losses.dtype = TOKAVG_DTYPE_F16, "loss.losses.dtype is 7 (F16)", "F32, F64");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.losses.memory = 9, "loss.losses", "memory is 9");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, (loss.kind = TOKAVG_LOSS_SUM, loss.tokens = -2), "loss.tokens is -2", "-1");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.loss_scale = NAN, "loss.loss_scale is nan", "finite");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, loss.loss_scale = INFINITY, "loss.loss_scale is inf", "finite");
  BAD_LOSS(no_gpu_memory(), loss.loss_scale_device = &scale, "loss.loss_scale_device", "CUDA");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, (loss.kind = TOKAVG_LOSS_MEAN, loss.labels = &labels), "loss.labels must be NULL");
  BAD_LOSS(TOKAVG_ERR_ARGUMENT, (loss.labels = &labels, loss.cols = 1), "loss has", "cols 1", "loss.labels has",
           "must be equal");
  BAD_LOSS(TOKAVG_ERR_UNSUPPORTED, (labels.flags = 8, loss.labels = &labels), "loss.labels.flags is 0x8");
  api_still_works(ctx);
  api_free(ctx);
}

#define BAD_SCALE(status, change, ...)                                                                                 \
  do {                                                                                                                 \
    double gradients[2] = {3, 5};                                                                                      \
    tokavg_scale_item_t items[2] = {{&gradients[0], 1, TOKAVG_DTYPE_F64, 0}, {&gradients[1], 1, TOKAVG_DTYPE_F64, 0}}; \
    tokavg_scale_t scale = {                                                                                           \
        (uint32_t)sizeof scale, (uint32_t)sizeof *items, items, 2, 0, TOKAVG_FACTOR_SCALE, 0, NULL};                   \
    change;                                                                                                            \
    EXPECT(ctx, tokavg_scale(ctx, ticket, &scale, NULL), status, __VA_ARGS__);                                         \
    assert_true(gradients[0] == 3 && gradients[1] == 5);                                                               \
  } while (0)

static void scales(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  tokavg_ticket_t ticket = api_reduce(ctx);
  const float device_factor = 1;
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.term = 8, "scale.term is 8", "config.terms is 1");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.kind = 0, "scale.kind is 0", "TOKAVG_FACTOR_");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.kind = 4, "scale.kind is 4", "TOKAVG_FACTOR_");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.factor = -INFINITY, "scale.factor is -inf", "finite");
  BAD_SCALE(no_gpu_memory(), scale.factor_device = &device_factor, "scale.factor_device", "CUDA");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.n_items = -1, "scale.n_items is -1", "2^31 - 1");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.items = NULL, "scale.items is NULL", "scale.n_items is 2");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.item_size = 0, "scale.item_size is 0", "sizeof(tokavg_scale_item_t)");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, scale.item_size = UINT32_MAX, "scale.item_size is 4294967295");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, items[1].count = -1, "scale.items[1].count is -1", ">= 0");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, items[1].count = INT64_MAX, "scale.items[1]", "beyond 2^63");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, items[1].data = NULL, "scale.items[1].data is NULL");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, items[1].dtype = 0, "scale.items[1].dtype is 0", "F32, F64, BF16, F16");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, items[1].dtype = TOKAVG_DTYPE_I32, "scale.items[1].dtype is 1 (I32)");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, items[1].memory = 5, "scale.items[1]", "memory is 5");
  BAD_SCALE(TOKAVG_ERR_ARGUMENT, ticket = TOKAVG_OPEN, "ticket is TOKAVG_OPEN", "tokavg_reduce");
  next_step(ctx, TOKAVG_ERR_ARGUMENT);
  api_still_works(ctx);
  api_free(ctx);
}

static void reduce_options(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  static const double bad[] = {-1, NAN, INFINITY};
  for (size_t i = 0; i < 3; i++) {
    const tokavg_reduce_t options = {(uint32_t)sizeof options, 0, 0, bad[i]};
    tokavg_ticket_t ticket = 0;
    EXPECT(ctx, tokavg_reduce(ctx, &options, NULL, &ticket), TOKAVG_ERR_ARGUMENT, "options.accumulation_divisor is",
           "finite and above 0");
    (void)api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_ERR_ARGUMENT);
    api_still_works(ctx);
  }
  const tokavg_reduce_t options = {(uint32_t)sizeof options, 4 | TOKAVG_REDUCE_DONE, 0, 0};
  tokavg_ticket_t ticket = 0;
  EXPECT(ctx, tokavg_reduce(ctx, &options, NULL, &ticket), TOKAVG_ERR_UNSUPPORTED, "options.flags is 0x5",
         "TOKAVG_REDUCE_DONE");
  assert_true(ticket > 0);
  api_still_works(ctx); /* the DONE of refused options does not hold */
  api_free(ctx);
}

/* Finite, but not once it is multiplied with the shards: refused like any other, by the call that is given it. */
static void factor_beyond_double(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.microbatch_shards = 8;
  tokavg_context_t *ctx = api_open(&config);
  const tokavg_reduce_t options = {(uint32_t)sizeof options, TOKAVG_REDUCE_DONE, 0, 1e308};
  tokavg_ticket_t ticket = 0;
  EXPECT(ctx, tokavg_reduce(ctx, &options, NULL, &ticket), TOKAVG_ERR_ARGUMENT,
         "options.accumulation_divisor is 1e+308", "microbatch_shards (8)", "not finite");
  (void)api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_ERR_ARGUMENT);
  api_still_works(ctx);
  api_free(ctx);
}

static void queries(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  OK(ctx, tokavg_count_add(ctx, 0, 4, 0, 1));
  const tokavg_ticket_t t = api_reduce(ctx);
  double factor = -7;
  EXPECT(ctx, tokavg_factor(ctx, t, 1, TOKAVG_FACTOR_SCALE, &factor), TOKAVG_ERR_ARGUMENT, "term is 1");
  EXPECT(ctx, tokavg_factor(ctx, t, 0, 0, &factor), TOKAVG_ERR_ARGUMENT, "kind is 0", "TOKAVG_FACTOR_");
  EXPECT(ctx, tokavg_factor(ctx, t, 0, 4, &factor), TOKAVG_ERR_ARGUMENT, "kind is 4");
  assert_true(factor == -7);
  tokavg_result_t result;
  memset(&result, 0x5a, sizeof result);
  result.struct_size = (uint32_t)sizeof result;
  EXPECT(ctx, tokavg_wait(ctx, t, 0, -1, &result), TOKAVG_ERR_ARGUMENT, "what is 0", "TOKAVG_WAIT_");
  EXPECT(ctx, tokavg_wait(ctx, t, 3, -1, &result), TOKAVG_ERR_ARGUMENT, "what is 3");
  EXPECT(ctx, tokavg_wait(ctx, t, TOKAVG_WAIT_COUNT, -2, &result), TOKAVG_ERR_ARGUMENT, "timeout_ms is -2", "-1");
  api_untouched(&result.flags, 0x5a, sizeof result - sizeof result.struct_size);
  api_still_works(ctx);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes),         cmocka_unit_test(strides_that_lead_nowhere),
      cmocka_unit_test(label_fields),   cmocka_unit_test(count_add),
      cmocka_unit_test(losses),         cmocka_unit_test(scales),
      cmocka_unit_test(reduce_options), cmocka_unit_test(factor_beyond_double),
      cmocka_unit_test(queries),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
