/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling gradients: several arrays of several types in one call, each rounded once. */
#include "support/unit.h"

#include <math.h>
#include <string.h>

#include "support/api.h"

static tokavg_scale_t over(const void *items, size_t item_size, int64_t n_items, int32_t kind) {
  return (tokavg_scale_t){.struct_size = (uint32_t)sizeof(tokavg_scale_t),
                          .item_size = (uint32_t)item_size,
                          .items = items,
                          .n_items = n_items,
                          .kind = kind};
}

static tokavg_ticket_t step_of(tokavg_context_t *ctx, int64_t tokens) {
  OK(ctx, tokavg_count_add(ctx, 0, tokens, 0, 2));
  return api_reduce(ctx);
}

static void arrays_of_every_type(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  double f64[3] = {10, -0.7, 1e300};
  float f32[2] = {10, 0.3f};
  uint16_t bf16[3] = {0x4120, 0x3f80, 0x7777}; /* 10, 1, and one that is not scaled */
  uint16_t f16[2] = {0x4900, 0xbc00};          /* 10, -1 */
  const tokavg_scale_item_t items[] = {{f64, 3, TOKAVG_DTYPE_F64, TOKAVG_MEMORY_AUTO},
                                       {f32, 2, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_HOST},
                                       {NULL, 0, TOKAVG_DTYPE_F32, 0},
                                       {NULL, 0, 0, 0},
                                       {bf16, 2, TOKAVG_DTYPE_BF16, 0},
                                       {f16, 2, TOKAVG_DTYPE_F16, 0}};
  const tokavg_scale_t scale = over(items, sizeof *items, 6, TOKAVG_FACTOR_SCALE);
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  const double f = 1.0 / 5;
  assert_true(f64[0] == 10 * f && f64[1] == -0.7 * f && f64[2] == 1e300 * f);
  assert_true(f32[0] == 2 && f32[1] == (float)((double)0.3f * f));
  assert_int_equal(bf16[0], 0x4000);
  assert_int_equal(bf16[1], 0x3e4d); /* 0.2 is nearest to 0.2002 */
  assert_int_equal(bf16[2], 0x7777);
  assert_int_equal(f16[0], 0x4000);
  assert_int_equal(f16[1], 0xb266);
  api_free(ctx);
}

static void kinds_terms_and_a_further_factor(void **state) {
  (void)state;
  tokavg_config_t config = api_config();
  config.terms = 2;
  config.gradient_ranks = 4;
  tokavg_context_t *ctx = api_open(&config);
  OK(ctx, tokavg_count_add(ctx, 1, 8, 0, 1));
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  static const double expected[] = {4.0 / 8, 1.0 / 8, 4.0 / 3};
  for (int32_t kind = TOKAVG_FACTOR_SCALE; kind <= TOKAVG_FACTOR_MICROBATCH; kind++) {
    double value = 1;
    const tokavg_scale_item_t item = {&value, 1, TOKAVG_DTYPE_F64, 0};
    tokavg_scale_t scale = over(&item, sizeof item, 1, kind);
    scale.term = 1;
    OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
    assert_true(value == expected[kind - 1]);
    scale.factor = -0.5;
    OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
    assert_true(value == -0.5 * expected[kind - 1] * expected[kind - 1]);
  }
  api_free(ctx);
}

static void no_items(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const tokavg_scale_t scale = over(NULL, 0, 0, TOKAVG_FACTOR_SCALE);
  OK(ctx, tokavg_scale(ctx, step_of(ctx, 5), &scale, NULL));
  api_free(ctx);
}

/* Items of a newer header are longer; what this library does not know must be zero. */
static void longer_items(void **state) {
  (void)state;
  struct {
    tokavg_scale_item_t item;
    uint64_t newer;
  } items[2];
  double values[2] = {10, 20};
  memset(items, 0, sizeof items);
  for (int i = 0; i < 2; i++) items[i].item = (tokavg_scale_item_t){&values[i], 1, TOKAVG_DTYPE_F64, 0};
  tokavg_context_t *ctx = api_self();
  const tokavg_scale_t scale = over(items, sizeof *items, 2, TOKAVG_FACTOR_SCALE);
  const tokavg_ticket_t ticket = step_of(ctx, 5);
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  assert_true(values[0] == 2 && values[1] == 4);
  items[1].newer = 1;
  EXPECT(ctx, tokavg_scale(ctx, ticket, &scale, NULL), TOKAVG_ERR_UNSUPPORTED, "scale.items[1]", "zero it");
  assert_true(values[0] == 2 && values[1] == 4);
  (void)api_result(ctx, api_reduce(ctx), TOKAVG_WAIT_COUNT, TOKAVG_ERR_UNSUPPORTED);
  api_still_works(ctx);
  api_free(ctx);
}

/* Nothing was divided: zeros, also over what is no number. */
static void an_empty_step_writes_zeros(void **state) {
  (void)state;
  tokavg_context_t *ctx = api_self();
  const tokavg_ticket_t ticket = api_reduce(ctx);
  double f64[2] = {NAN, -INFINITY};
  uint16_t f16[2] = {0x7e00, 0xfc00};
  const tokavg_scale_item_t items[] = {{f64, 2, TOKAVG_DTYPE_F64, 0}, {f16, 2, TOKAVG_DTYPE_F16, 0}};
  const tokavg_scale_t scale = over(items, sizeof *items, 2, TOKAVG_FACTOR_SCALE);
  OK(ctx, tokavg_scale(ctx, ticket, &scale, NULL));
  api_untouched(f64, 0, sizeof f64);
  api_untouched(f16, 0, sizeof f16);
  api_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(arrays_of_every_type),
      cmocka_unit_test(kinds_terms_and_a_further_factor),
      cmocka_unit_test(no_items),
      cmocka_unit_test(longer_items),
      cmocka_unit_test(an_empty_step_writes_zeros),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
