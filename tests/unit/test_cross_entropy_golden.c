/* SPDX-License-Identifier: Apache-2.0 */
/* The bits of the float32 cross entropy do not change: tests/data/cross_entropy_golden.txt, on every target, for any
   number of threads and any partition of the rows. With an argument the program writes that file instead, from the
   portable kernels; a change of it is a change of every user's losses, and belongs in the changelog. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/internal.h"
#include "support/random.h"

enum { kRows = 3, kLine = 4096, kShown = 12 };

typedef struct golden_case {
  const char *name;
  int32_t dtype;
  int64_t vocab;
  double smoothing, z_loss, softcap;
  double rise; /* of the logits, from block to block */
  double factor;
} golden_case_t;

static const golden_case_t cases[] = {
    {"f32/1", TOKAVG_DTYPE_F32, 1, 0, 0, 0, 0, 1},
    {"f32/2", TOKAVG_DTYPE_F32, 2, 0, 0, 0, 0, 1},
    {"f32/17", TOKAVG_DTYPE_F32, 17, 0, 0, 0, 0, 0x1p-10},
    {"f32/64", TOKAVG_DTYPE_F32, 64, 0, 0, 0, 0, 0.3},
    {"f32/100", TOKAVG_DTYPE_F32, 100, 0, 0, 0, 0, -0.7},
    {"f32/1000", TOKAVG_DTYPE_F32, 1000, 0, 0, 0, 0, 1e-3},
    {"f32/1024", TOKAVG_DTYPE_F32, 1024, 0, 0, 0, 0, 1e-3},
    {"f32/1025", TOKAVG_DTYPE_F32, 1025, 0, 0, 0, 0, 1e-3},
    {"f32/50257", TOKAVG_DTYPE_F32, 50257, 0, 0, 0, 0, 1.0 / 8192},
    {"f32/3000/rising", TOKAVG_DTYPE_F32, 3000, 0, 0, 0, 100, 1},
    {"f32/5000/falling", TOKAVG_DTYPE_F32, 5000, 0, 0, 0, -1.5, 1},
    {"f32/130/smoothed", TOKAVG_DTYPE_F32, 130, 0.1, 0, 0, 0, 1},
    {"f32/130/z", TOKAVG_DTYPE_F32, 130, 0, 1e-4, 0, 0, 1},
    {"f32/130/capped", TOKAVG_DTYPE_F32, 130, 0, 0, 5, 0, 1},
    {"f32/1100/all", TOKAVG_DTYPE_F32, 1100, 0.05, 1e-3, 30, 0, 0.01},
    {"bf16/17", TOKAVG_DTYPE_BF16, 17, 0, 0, 0, 0, 1},
    {"bf16/130", TOKAVG_DTYPE_BF16, 130, 0, 0, 0, 0, 0.3},
    {"bf16/2049", TOKAVG_DTYPE_BF16, 2049, 0.1, 0, 0, 2.5, 1},
    {"bf16/32000", TOKAVG_DTYPE_BF16, 32000, 0, 0, 0, 0, 1.0 / 4096},
    {"bf16/200/capped", TOKAVG_DTYPE_BF16, 200, 0, 1e-4, 10, 0, 1},
    {"f16/17", TOKAVG_DTYPE_F16, 17, 0, 0, 0, 0, 64},
    {"f16/130", TOKAVG_DTYPE_F16, 130, 0, 0, 0, 0, 65536},
    {"f16/4097", TOKAVG_DTYPE_F16, 4097, 0, 1e-4, 0, 0, 1024},
    {"f16/300/all", TOKAVG_DTYPE_F16, 300, 0.2, 1e-4, 8, 0, 100},
};
enum { kCases = sizeof cases / sizeof *cases };

static size_t width_of(int32_t dtype) { return dtype == TOKAVG_DTYPE_F32 ? sizeof(float) : sizeof(uint16_t); }

/* Eighths, with a bell's shape and no call of the mathematical library. */
static void fill_logits(const golden_case_t *c, void *logits) {
  uint64_t random = (uint64_t)c->vocab;
  for (int64_t i = 0; i < kRows * c->vocab; ++i) {
    int64_t eighths = -96;
    for (int k = 0; k < 4; ++k) eighths += (int64_t)random_below(&random, 49);
    double value = (double)eighths / 8 + c->rise * (double)(i % c->vocab / 1024);
    if (c->dtype == TOKAVG_DTYPE_F32) {
      ((float *)logits)[i] = (float)value;
    } else {
      ((uint16_t *)logits)[i] = internal_to_half(value, c->dtype);
    }
  }
}

typedef struct golden_result {
  float losses[kRows], lse[kRows];
  unsigned char *gradient; /* kRows x vocab */
} golden_result_t;

/* Rows first to last - 1, in place. */
static void compute_rows(const golden_case_t *c, int first, int last, golden_result_t *result) {
  int32_t labels[kRows];
  for (int r = 0; r < kRows; ++r) labels[r] = (int32_t)(c->vocab * r / kRows);
  void *logits = result->gradient + (size_t)first * (size_t)c->vocab * width_of(c->dtype);
  tokavg_labels_t view = {.struct_size = sizeof view, .rows = last - first, .cols = 1};
  view.labels = (tokavg_array_t){labels + first, TOKAVG_DTYPE_I32, 0, 1, 1};
  tokavg_cross_entropy_t ce = {.struct_size = sizeof ce, .vocab = c->vocab, .labels = &view};
  ce.label_smoothing = c->smoothing;
  ce.z_loss = c->z_loss;
  ce.logit_softcap = c->softcap;
  ce.logits = (tokavg_array_t){logits, c->dtype, 0, c->vocab, c->vocab};
  ce.gradient_out = ce.logits;
  ce.losses_out = (tokavg_array_t){result->losses + first, TOKAVG_DTYPE_F32, 0, 1, 1};
  ce.lse_out = (tokavg_array_t){result->lse + first, TOKAVG_DTYPE_F32, 0, 1, 1};
  assert_int_equal(internal_cross_entropy(&ce, -100, c->factor).status, TOKAVG_OK);
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* One line: the losses, the log-sum-exps, a checksum (FNV-1a) of the gradient and some of its elements, all in hex. */
static void describe(const golden_case_t *c, const golden_result_t *result, char line[kLine]) {
  const size_t width = width_of(c->dtype), size = kRows * (size_t)c->vocab * width;
  uint64_t sum = 0xcbf29ce484222325U;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ result->gradient[i]) * 0x100000001b3U;
  int at = snprintf(line, kLine, "%s losses", c->name);
  for (int r = 0; r < kRows; ++r) at += snprintf(line + at, kLine - (size_t)at, " %08x", bits_of(result->losses[r]));
  at += snprintf(line + at, kLine - (size_t)at, " lse");
  for (int r = 0; r < kRows; ++r) at += snprintf(line + at, kLine - (size_t)at, " %08x", bits_of(result->lse[r]));
  at += snprintf(line + at, kLine - (size_t)at, " gradient %016llx", (unsigned long long)sum);
  for (int64_t i = 0; i < kShown; ++i) {
    const unsigned char *element = result->gradient + (size_t)(i * (kRows * c->vocab - 1) / (kShown - 1)) * width;
    at += snprintf(line + at, kLine - (size_t)at, " ");
    for (size_t byte = width; byte-- > 0;) at += snprintf(line + at, kLine - (size_t)at, "%02x", element[byte]);
  }
}

static void compute(const golden_case_t *c, int rows_a_call, char line[kLine]) {
  golden_result_t result;
  result.gradient = malloc(kRows * (size_t)c->vocab * width_of(c->dtype));
  assert_non_null(result.gradient);
  fill_logits(c, result.gradient);
  for (int r = 0; r < kRows; r += rows_a_call) {
    compute_rows(c, r, r + rows_a_call < kRows ? r + rows_a_call : kRows, &result);
  }
  describe(c, &result, line);
  free(result.gradient);
}

static char expected[kCases][kLine];

static int read_golden(void **state) {
  (void)state;
  FILE *file = fopen(TOKAVG_TEST_DATA "/cross_entropy_golden.txt", "r");
  assert_non_null(file);
  int lines = 0;
  char line[kLine];
  while (fgets(line, sizeof line, file) != NULL) {
    if (*line == '#') continue;
    assert_true(lines < kCases);
    line[strcspn(line, "\n")] = '\0';
    memcpy(expected[lines++], line, sizeof line);
  }
  (void)fclose(file);
  assert_int_equal(lines, kCases);
  return 0;
}

static void check(const char *kernels) {
  char line[kLine];
  if (internal_use_kernels(kernels, 1) != TOKAVG_OK) skip();
  for (int threads = 1; threads <= 3; threads += 2) {
    assert_int_equal(internal_use_kernels(kernels, threads), TOKAVG_OK);
    for (int rows = 1; rows <= kRows; ++rows) {
      for (int i = 0; i < kCases; ++i) {
        compute(&cases[i], rows, line);
        if (strcmp(line, expected[i]) != 0) fail_msg("is\n%s\nshould be\n%s", line, expected[i]);
      }
    }
  }
}

static void avx512(void **state) {
  (void)state;
  check("avx512");
}

static void avx2(void **state) {
  (void)state;
  check("avx2");
}

static void neon(void **state) {
  (void)state;
  check("neon");
}

static void portable(void **state) {
  (void)state;
  check("portable");
}

int main(int argc, char **argv) {
  if (argc > 1) {
    FILE *file = fopen(argv[1], "w");
    if (file == NULL || internal_use_kernels("portable", 1) != TOKAVG_OK) return 1;
    (void)fprintf(file,
                  "# Losses, log-sum-exps and gradients of cross entropy in hex; see test_cross_entropy_golden.c.\n");
    char line[kLine];
    for (int i = 0; i < kCases; ++i) {
      compute(&cases[i], kRows, line);
      (void)fprintf(file, "%s\n", line);
    }
    return fclose(file) == 0 ? 0 : 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(avx512),
      cmocka_unit_test(avx2),
      cmocka_unit_test(neon),
      cmocka_unit_test(portable),
  };
  return cmocka_run_group_tests(tests, read_golden, NULL);
}
