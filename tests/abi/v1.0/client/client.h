/* SPDX-License-Identifier: Apache-2.0 */
/* A program of somebody who built with tokavg 1.0 and never again. It shares nothing with the tests of today. */
#ifndef TOKAVG_CLIENT_1_0_H
#define TOKAVG_CLIENT_1_0_H

#include <tokavg/tokavg.h>

#if TOKAVG_VERSION_MAJOR != 1 || TOKAVG_VERSION_MINOR != 0 || TOKAVG_ABI_VERSION != 1
#error "these are not the headers of 1.0"
#endif

enum { MOST_RANKS = 2, MOST_PARTS = 2, MOST_TOKENS = 10, MOST_TERMS = 2 };

/* One row of labels: a microbatch, or with `same` a further term of the one before. */
struct part {
  int32_t term;
  int32_t same;
  int32_t discard;
  int64_t shift;
  int64_t cols;
  int64_t labels[MOST_TOKENS];
  float losses[MOST_TOKENS];
  float weights[MOST_TOKENS]; /* read with has_weights */
  uint8_t mask[MOST_TOKENS];  /* read with has_mask */
  int32_t has_weights;
  int32_t has_mask;
};

struct expected {
  tokavg_status_t status;
  int64_t tokens[MOST_TERMS];
  double weight_sum[MOST_TERMS];
  double factor[MOST_TERMS];
  double mean_loss[MOST_TERMS];
  int64_t microbatches;
  double microbatch_factor;
  int32_t empty_ranks;
  int32_t done_ranks;
  double backward[MOST_RANKS][MOST_TERMS];
};

/* One step of tests/data/contract.jsonl of 1.0, whose numbers were worked out without the library. */
struct contract_case {
  const char *id;
  int32_t ranks;
  int32_t reduction;
  int32_t divisor;
  int32_t terms;
  double accumulation_divisor;
  int64_t ignore_index;
  int32_t parts[MOST_RANKS];
  struct part part[MOST_RANKS][MOST_PARTS];
  int32_t done[MOST_RANKS];
  struct expected expected;
};

extern const struct contract_case cases[];
extern const int n_cases;

/* How one rank gets a context; the rest of the configuration is the caller's. */
struct member {
  int32_t comm_kind;
  const void *comm;
  int32_t rank;
  int32_t ranks;
};

tokavg_config_t base_config(const struct member *member);
tokavg_context_t *open_context(const tokavg_config_t *config);
void close_context(tokavg_context_t *ctx);

void run_cases(const struct member *member);
void run_calls(const struct member *member);
void run_without_context(void);
void run_on_a_table(void);

/* Failures are counted: threads may fail, and a rank that leaves early would keep the others waiting. */
void check(int fine, const char *what, const char *file, int line);
int failures(void);
/* The same bits; a NaN is none of these. */
int same(double a, double b);
int close_to(double a, double b);

#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)
#define OK(call) CHECK((call) == TOKAVG_OK)

#endif
