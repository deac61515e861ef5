/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy through the public interface, against the formula of types.h in plain double; and a bad label. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/api.h"
#include "support/random.h"

enum { ROWS = 3, COLS = 4, VOCAB = 7, TOKENS = ROWS * COLS, LOGITS = TOKENS * VOCAB };

struct options {
  double smoothing, z_loss, softcap, loss_scale;
  int32_t label_base;
  int64_t shift;
  int in_place;
};

struct batch {
  int32_t labels[TOKENS];
  float weights[TOKENS];
  float logits[LOGITS];
};

static struct batch make_batch(int32_t label_base) {
  struct batch batch;
  uint64_t state = 7;
  for (int i = 0; i < LOGITS; i++) batch.logits[i] = (float)(8 * random_unit(&state) - 4);
  for (int i = 0; i < TOKENS; i++) {
    batch.labels[i] = random_below(&state, 4) == 0 ? -100 : label_base + (int32_t)random_below(&state, VOCAB);
    batch.weights[i] = (float)(0.5 + random_unit(&state));
  }
  return batch;
}

struct expected {
  double loss[TOKENS], lse[TOKENS], gradient[LOGITS], sum;
  int32_t argmax[TOKENS];
  int64_t tokens;
};

/* One logits row: its loss, log-sum-exp, largest class, and the slope of the loss in each logit. */
static void expect_row(const struct options *o, const float *logits, int label, struct expected *e, int64_t at,
                       double *slope) {
  double x[VOCAB], cap[VOCAB], total = 0, mean = 0;
  int32_t largest = 0;
  for (int k = 0; k < VOCAB; k++) {
    const double logit = (double)logits[k];
    const double t = o->softcap != 0 ? tanh(logit / o->softcap) : 0;
    x[k] = o->softcap != 0 ? o->softcap * t : logit;
    cap[k] = 1 - t * t;
    total += exp(x[k]);
    mean += x[k] / VOCAB;
    if (logits[k] > logits[largest]) largest = k;
  }
  const double lse = log(total);
  e->lse[at] = lse;
  e->argmax[at] = largest + o->label_base;
  slope[VOCAB] = (1 - o->smoothing) * (lse - x[label]) + o->smoothing * (lse - mean) + o->z_loss * lse * lse;
  for (int k = 0; k < VOCAB; k++) {
    const double p = exp(x[k]) / total;
    slope[k] = cap[k] * (p - (1 - o->smoothing) * (k == label) - o->smoothing / VOCAB + 2 * o->z_loss * lse * p);
  }
}

static struct expected expect(const struct options *o, const struct batch *batch, double factor) {
  struct expected e;
  memset(&e, 0, sizeof e);
  for (int i = 0; i < TOKENS; i++) e.argmax[i] = -1;
  for (int64_t r = 0; r < ROWS; r++) {
    for (int64_t c = o->shift; c < COLS; c++) {
      const int64_t token = r * COLS + c;
      const int64_t row = token - o->shift;
      if (batch->labels[token] == -100) continue;
      double slope[VOCAB + 1];
      expect_row(o, &batch->logits[row * VOCAB], batch->labels[token] - o->label_base, &e, row, slope);
      const double w = (double)batch->weights[token];
      e.loss[token] = slope[VOCAB];
      e.sum += w * slope[VOCAB];
      e.tokens++;
      for (int k = 0; k < VOCAB; k++) e.gradient[row * VOCAB + k] = w * factor * slope[k];
    }
  }
  return e;
}

static void close_to(double got, double want) {
  if (!(fabs(got - want) <= 2e-6 * (fabs(want) + 0.1))) fail_msg("%.9g instead of %.9g", got, want);
}

static void compare(const struct options *o) {
  tokavg_config_t config = api_config();
  config.gradient_ranks = 3;
  tokavg_context_t *ctx = api_open(&config);
  struct batch batch = make_batch(o->label_base);
  const struct batch before = batch;
  float losses[TOKENS], lse[TOKENS], gradient[LOGITS], backward = 0;
  int32_t argmax[TOKENS];
  double sum = 0;
  tokavg_labels_t labels = api_labels(batch.labels, ROWS, COLS);
  labels.weights = api_array(batch.weights, TOKAVG_DTYPE_F32);
  labels.shift = o->shift;
  labels.label_base = o->label_base;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  const double factor = api_factor(ctx, ticket, 0, TOKAVG_FACTOR_SCALE);
  const double scale = factor * (o->loss_scale != 0 ? o->loss_scale : 1);
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                               .logits = api_array(batch.logits, TOKAVG_DTYPE_F32),
                               .vocab = VOCAB,
                               .labels = &labels,
                               .label_smoothing = o->smoothing,
                               .z_loss = o->z_loss,
                               .logit_softcap = o->softcap,
                               .loss_scale = o->loss_scale,
                               .gradient_out = api_array(o->in_place ? batch.logits : gradient, TOKAVG_DTYPE_F32),
                               .losses_out = api_array(losses, TOKAVG_DTYPE_F32),
                               .lse_out = api_array(lse, TOKAVG_DTYPE_F32),
                               .argmax_out = api_array(argmax, TOKAVG_DTYPE_I32),
                               .backward_out = &backward,
                               .sum_out = &sum};
  OK(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL));
  const struct expected e = expect(o, &before, scale);
  const float *got = o->in_place ? batch.logits : gradient;
  for (int i = 0; i < LOGITS; i++) close_to((double)got[i], e.gradient[i]);
  for (int i = 0; i < TOKENS; i++) {
    close_to((double)losses[i], e.loss[i]);
    close_to((double)lse[i], e.lse[i]);
    assert_int_equal(argmax[i], e.argmax[i]);
  }
  close_to(sum, e.sum);
  close_to((double)backward, e.sum * scale);
  OK(ctx, tokavg_flush(ctx, NULL));
  const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_LOSS, TOKAVG_OK);
  assert_int_equal(result.flags, TOKAVG_RESULT_LOSS_READY); /* the tokens counted are the tokens in the loss */
  assert_int_equal(result.loss_tokens[0], e.tokens);
  ASSERT_BITS(result.loss_sum[0], sum);
  if (!o->in_place) assert_memory_equal(&batch, &before, sizeof batch);
  api_free(ctx);
}

static void values(void **state) {
  (void)state;
  static const struct options options[] = {
      {0, 0, 0, 0, 0, 0, 0},   {0, 0, 0, 0, 0, 1, 0},       {0.1, 0, 0, 512, 0, 0, 0}, {0, 1e-3, 0, 0, 1, 0, 0},
      {0, 0, 3.5, 0, 0, 2, 0}, {0.2, 1e-2, 2, -3, 1, 1, 1}, {1, 0, 0, 0, 0, 0, 0},     {0, 0, 0, 0, 1, 3, 1},
  };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) compare(&options[i]);
}

static void rows_no_wider_than_the_shift(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  struct batch batch = make_batch(0);
  float losses[TOKENS], gradient[LOGITS];
  memset(losses, 0x5a, sizeof losses);
  memset(gradient, 0x5a, sizeof gradient);
  tokavg_labels_t labels = api_labels(batch.labels, ROWS, COLS);
  labels.shift = COLS + 5;
  OK(ctx, tokavg_count(ctx, &labels, NULL));
  const tokavg_ticket_t ticket = api_reduce(ctx);
  tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = VOCAB, .labels = &labels};
  ce.logits = api_array(batch.logits, TOKAVG_DTYPE_F32);
  ce.gradient_out = api_array(gradient, TOKAVG_DTYPE_F32);
  ce.losses_out = api_array(losses, TOKAVG_DTYPE_F32);
  OK(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL));
  api_untouched(losses, 0, sizeof losses);
  api_untouched(gradient, 0, sizeof gradient);
  assert_int_equal(api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_EMPTY).tokens[0], 0);
  api_free(ctx);
}

/* Row, column and value are in the text, and not one output is touched. */
static void a_label_outside_the_vocabulary(void **state) {
  (void)state;
  static const struct {
    int32_t label, base;
    const char *value;
  } bad[] = {{VOCAB, 0, "is 7;"},
             {-1, 0, "is -1;"},
             {0, 1, "is 0;"},
             {VOCAB + 1, 1, "is 8;"},
             {INT32_MIN, 0, "is -2147483648;"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tokavg_context_t *ctx = api_self();
    struct batch batch = make_batch(bad[i].base);
    batch.labels[2 * COLS + 1] = bad[i].label;
    struct {
      float losses[TOKENS], lse[TOKENS], gradient[LOGITS], backward;
      int32_t argmax[TOKENS];
      double sum;
    } out;
    memset(&out, 0x5a, sizeof out);
    tokavg_labels_t labels = api_labels(batch.labels, ROWS, COLS);
    labels.label_base = bad[i].base;
    OK(ctx, tokavg_count(ctx, &labels, NULL));
    const tokavg_ticket_t ticket = api_reduce(ctx);
    tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                                 .logits = api_array(batch.logits, TOKAVG_DTYPE_F32),
                                 .vocab = VOCAB,
                                 .labels = &labels,
                                 .gradient_out = api_array(out.gradient, TOKAVG_DTYPE_F32),
                                 .losses_out = api_array(out.losses, TOKAVG_DTYPE_F32),
                                 .lse_out = api_array(out.lse, TOKAVG_DTYPE_F32),
                                 .argmax_out = api_array(out.argmax, TOKAVG_DTYPE_I32),
                                 .backward_out = &out.backward,
                                 .sum_out = &out.sum};
    EXPECT(ctx, tokavg_cross_entropy(ctx, ticket, &ce, NULL), TOKAVG_ERR_LABEL, "row 2, column 1", bad[i].value,
           "vocab");
    api_untouched(&out, 0x5a, sizeof out);
    /* Its ticket's message has left: the next one carries the failure. */
    const tokavg_result_t result = api_result(ctx, ticket, TOKAVG_WAIT_COUNT, TOKAVG_OK);
    assert_int_equal(result.loss_tokens[0], 0);
    (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_LABEL);
    api_still_works(ctx);
    /* Not scored: whatever it is. */
    labels.shift = 2;
    OK(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL));
    api_free(ctx);
  }
}

#define BAD(status, change, ...)                                                                         \
  do {                                                                                                   \
    tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce, .vocab = VOCAB, .labels = &labels}; \
    ce.logits = api_array(batch.logits, TOKAVG_DTYPE_F32);                                               \
    ce.losses_out = api_array(losses, TOKAVG_DTYPE_F32);                                                 \
    memset(losses, 0x5a, sizeof losses);                                                                 \
    change;                                                                                              \
    EXPECT(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL), status, __VA_ARGS__);                 \
    api_untouched(losses, 0x5a, sizeof losses);                                                          \
  } while (0)

static void fields(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const struct batch batch = make_batch(0);
  float losses[TOKENS], weights[TOKENS];
  memcpy(weights, batch.weights, sizeof weights);
  tokavg_labels_t labels = api_labels(batch.labels, ROWS, COLS);
  BAD(TOKAVG_ERR_ARGUMENT, ce.labels = NULL, "ce.labels is NULL");
  BAD(TOKAVG_ERR_UNSUPPORTED, ce.reserved = 1, "ce.reserved is 1", "zero it");
  BAD(TOKAVG_ERR_ARGUMENT, ce.vocab = 0, "ce.vocab is 0");
  BAD(TOKAVG_ERR_ARGUMENT, ce.vocab = -5, "ce.vocab is -5");
  BAD(TOKAVG_ERR_ARGUMENT, ce.logits.data = NULL, "ce.logits.data is NULL");
  BAD(TOKAVG_ERR_ARGUMENT, ce.logits.dtype = TOKAVG_DTYPE_F64, "ce.logits.dtype is 5 (F64)", "F32, BF16, F16");
  BAD(TOKAVG_ERR_ARGUMENT, ce.logits.row_stride = INT64_MAX / 2, "ce.logits", "beyond 2^63");
  BAD(TOKAVG_ERR_ARGUMENT, ce.label_smoothing = 1.5, "ce.label_smoothing is 1.5", "from 0 to 1");
  BAD(TOKAVG_ERR_ARGUMENT, ce.label_smoothing = NAN, "ce.label_smoothing is nan");
  BAD(TOKAVG_ERR_ARGUMENT, ce.z_loss = -1, "ce.z_loss is -1");
  BAD(TOKAVG_ERR_ARGUMENT, ce.logit_softcap = INFINITY, "ce.logit_softcap is inf");
  BAD(TOKAVG_ERR_ARGUMENT, ce.loss_scale = NAN, "ce.loss_scale is nan");
  BAD(TOKAVG_ERR_ARGUMENT, ce.gradient_out = api_array(weights, TOKAVG_DTYPE_BF16), "ce.gradient_out.dtype is BF16",
      "F32");
  BAD(TOKAVG_ERR_ARGUMENT, (ce.gradient_out = ce.logits, ce.gradient_out.col_stride = VOCAB + 1), "ce.gradient_out",
      "strides");
  BAD(TOKAVG_ERR_ARGUMENT, ce.lse_out = api_array(weights, TOKAVG_DTYPE_F64), "ce.lse_out.dtype is 5", "F32");
  BAD(TOKAVG_ERR_ARGUMENT, ce.argmax_out = api_array(weights, TOKAVG_DTYPE_I64), "ce.argmax_out.dtype is 2", "I32");
  weights[5] = -INFINITY;
  labels.weights = api_array(weights, TOKAVG_DTYPE_F32);
  if (batch.labels[5] != -100) BAD(TOKAVG_ERR_WEIGHT, (void)0, "row 1, column 1", "-inf");
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_ARGUMENT); /* the first failure of the step */
  api_still_works(ctx);
  api_free(ctx);
}

/* As with a bad label, what fails writes nothing. */
static void no_room_for_its_tokens(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const double value = 1;
  const tokavg_loss_t all = api_value(TOKAVG_LOSS_SUM, &value, INT64_MAX);
  OK(ctx, tokavg_loss(ctx, TOKAVG_OPEN, &all, NULL));
  const int32_t label = 1;
  const tokavg_labels_t labels = api_labels(&label, 1, 1);
  const float logits[2] = {1, 2};
  float gradient[2];
  float loss;
  double sum;
  memset(gradient, 0x5a, sizeof gradient);
  memset(&loss, 0x5a, sizeof loss);
  memset(&sum, 0x5a, sizeof sum);
  const tokavg_cross_entropy_t ce = {.struct_size = (uint32_t)sizeof ce,
                                     .logits = api_array(logits, TOKAVG_DTYPE_F32),
                                     .vocab = 2,
                                     .labels = &labels,
                                     .gradient_out = api_array(gradient, TOKAVG_DTYPE_F32),
                                     .losses_out = api_array(&loss, TOKAVG_DTYPE_F32),
                                     .sum_out = &sum};
  EXPECT(ctx, tokavg_cross_entropy(ctx, TOKAVG_OPEN, &ce, NULL), TOKAVG_ERR_OVERFLOW, "9223372036854775807 tokens",
         "reach 2^63");
  api_untouched(gradient, 0x5a, sizeof gradient);
  api_untouched(&loss, 0x5a, sizeof loss);
  api_untouched(&sum, 0x5a, sizeof sum);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_room_for_its_tokens),
      cmocka_unit_test(values),
      cmocka_unit_test(rows_no_wider_than_the_shift),
      cmocka_unit_test(a_label_outside_the_vocabulary),
      cmocka_unit_test(fields),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
