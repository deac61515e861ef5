/* SPDX-License-Identifier: Apache-2.0 */
/* Short words for what almost every test of the public interface says. Main thread only: they assert. */
#ifndef TOKAVG_TESTS_SUPPORT_API_H
#define TOKAVG_TESTS_SUPPORT_API_H

#include "tokavg/tokavg.h"

/* SELF, averaged gradients, deaf to the environment that the tests happen to run in. */
tokavg_config_t api_config(void);
tokavg_context_t *api_open(const tokavg_config_t *config);
tokavg_context_t *api_self(void);
void api_free(tokavg_context_t *ctx);

/* Ranks 0 and 1 of a group of threads. Only making them needs a second thread: afterwards the test plays both. */
void api_open_ranks(const tokavg_config_t config[2], tokavg_context_t *ctx_out[2]);
void api_open_two(const tokavg_config_t *config, tokavg_context_t *ctx_out[2]);
/* Both are refused, each with its status, and long before the deadline. The text of rank 0 is then this thread's. */
void api_refuse_ranks(const tokavg_config_t config[2], const tokavg_status_t status[2]);

/* The last text of ctx, or of this thread; valid until the next call. */
const char *api_text(tokavg_context_t *ctx);

tokavg_labels_t api_labels(const int32_t *labels, int64_t rows, int64_t cols);
tokavg_array_t api_array(const void *data, int32_t dtype);
/* One value of F64 for `tokens` tokens. */
tokavg_loss_t api_value(int32_t kind, const double *value, int64_t tokens);

tokavg_ticket_t api_reduce(tokavg_context_t *ctx);
/* Waits until the deadline and expects `status`. */
tokavg_result_t api_result(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t what, tokavg_status_t status);
double api_factor(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t term, int32_t kind);
/* A step of its own works: what went wrong before has left nothing behind. */
void api_still_works(tokavg_context_t *ctx);

uint64_t api_bits(double value);
/* Whether it is one JSON object and nothing else. */
int api_is_json_object(const char *text);
/* Fails unless all n bytes are `byte`. */
void api_untouched(const void *memory, int byte, size_t n);

/* `call` returns `status` and each word that follows is in the text of ctx. */
#define EXPECT(ctx, call, status, ...) \
  api_expect(ctx, call, status, (const char *const[]){__VA_ARGS__, NULL}, #call, __FILE__, __LINE__)
void api_expect(tokavg_context_t *ctx, tokavg_status_t got, tokavg_status_t status, const char *const *words,
                const char *call, const char *file, int line);
#define OK(ctx, call) api_expect(ctx, call, TOKAVG_OK, NULL, #call, __FILE__, __LINE__)

#define ASSERT_BITS(a, b) assert_int_equal(api_bits(a), api_bits(b))

#endif
