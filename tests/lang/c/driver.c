/* SPDX-License-Identifier: Apache-2.0 */
/* driver self|mpi CASES OUT: the contract cases through the C interface; ../README.md says what is done and written. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../mpi/lang_mpi.h"
#include "cases.h"

static FILE *out;

static int ok(tokavg_context_t *ctx, const char *call, tokavg_status_t status) {
  if (status == TOKAVG_OK) return 1;
  char text[512] = "";
  (void)tokavg_last_error(ctx, text, sizeof text, NULL);
  (void)fprintf(out, "fault %s: %s: %s\n", call, tokavg_status_name(status), text);
  return 0;
}

static void put_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  (void)fprintf(out, " %016" PRIx64, bits);
}

/* What the calls of one step gave back, per term. */
typedef struct totals {
  double backward[TOKAVG_MAX_TERMS], sum[TOKAVG_MAX_TERMS];
} totals_t;

static void record(tokavg_context_t *ctx, tokavg_ticket_t ticket, const call_t *call, totals_t *totals) {
  float backward_float = 0;
  double backward_double = 0, sum = 0;
  const int is_float = call->losses.dtype == TOKAVG_DTYPE_F32;
  tokavg_loss_t loss = {.struct_size = sizeof loss, .kind = TOKAVG_LOSS_TOKEN_LOSSES, .labels = &call->labels};
  loss.term = call->labels.term;
  loss.rows = call->labels.rows;
  loss.cols = call->labels.cols;
  loss.losses = call->losses;
  loss.backward_out = is_float ? (void *)&backward_float : (void *)&backward_double;
  loss.sum_out = &sum;
  if (!ok(ctx, "tokavg_loss", tokavg_loss(ctx, ticket, &loss, NULL)) || call->discard) return;
  totals->backward[loss.term] += is_float ? (double)backward_float : backward_double;
  totals->sum[loss.term] += sum;
}

static void count(tokavg_context_t *ctx, const rank_input_t *rank, int after, totals_t *totals) {
  for (int i = 0; i < rank->n_calls; i++) {
    const call_t *call = &rank->calls[i];
    ok(ctx, "tokavg_count", tokavg_count(ctx, &call->labels, NULL));
    if (after && call->losses.data != NULL) record(ctx, TOKAVG_OPEN, call, totals);
    const int last = i + 1 == rank->n_calls || (rank->calls[i + 1].labels.flags & TOKAVG_LABELS_SAME_MICROBATCH) == 0;
    if (call->discard && last) ok(ctx, "tokavg_discard", tokavg_discard(ctx));
  }
}

static void put_scaled(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t term, double factor) {
  double wide = factor == 0 ? (double)NAN : 3;
  float narrow = factor == 0 ? NAN : 3;
  const tokavg_scale_item_t items[2] = {{&wide, 1, TOKAVG_DTYPE_F64, 0}, {&narrow, 1, TOKAVG_DTYPE_F32, 0}};
  tokavg_scale_t scale = {.struct_size = sizeof scale, .item_size = sizeof items[0], .items = items, .n_items = 2};
  scale.term = term;
  scale.kind = TOKAVG_FACTOR_SCALE;
  ok(ctx, "tokavg_scale", tokavg_scale(ctx, ticket, &scale, NULL));
  put_bits(wide);
  put_bits((double)narrow);
}

static void put_result(tokavg_context_t *ctx, tokavg_ticket_t ticket, int terms, int after, const totals_t *totals,
                       const tokavg_result_t *result) {
  double factor = 0, report = 0, microbatch = 0;
  for (int32_t t = 0; t < terms; t++) {
    ok(ctx, "tokavg_factor", tokavg_factor(ctx, ticket, t, TOKAVG_FACTOR_SCALE, &factor));
    ok(ctx, "tokavg_factor", tokavg_factor(ctx, ticket, t, TOKAVG_FACTOR_REPORT, &report));
    (void)fprintf(out, "term %d %" PRId64 " %" PRId64 " %" PRId64, t, result->tokens[t], result->nonfinite[t],
                  result->loss_tokens[t]);
    const double numbers[] = {result->weight_sum[t], result->factor[t],   factor,        report,
                              result->mean_loss[t],  totals->backward[t], totals->sum[t]};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) put_bits(numbers[i]);
    if (after) {
      put_scaled(ctx, ticket, t, factor);
    } else {
      (void)fputs(" - -", out);
    }
    (void)fputs("\n", out);
  }
  ok(ctx, "tokavg_factor", tokavg_factor(ctx, ticket, 0, TOKAVG_FACTOR_MICROBATCH, &microbatch));
  (void)fprintf(out, "end %" PRId64, result->microbatches);
  put_bits(microbatch);
  (void)fprintf(out, " %d %d %d %d %u\n", result->empty_ranks, result->done_ranks, result->failed_ranks, result->ranks,
                result->flags);
}

static void run_step(tokavg_context_t *ctx, const contract_case_t *c, int index, int rank, int after) {
  const step_t *step = &c->steps[index];
  const rank_input_t *input = &step->ranks[rank];
  totals_t totals;
  memset(&totals, 0, sizeof totals);
  count(ctx, input, after, &totals);
  const tokavg_reduce_t options = {.struct_size = sizeof options, .flags = input->done ? TOKAVG_REDUCE_DONE : 0};
  tokavg_ticket_t ticket = 0;
  ok(ctx, "tokavg_reduce", tokavg_reduce(ctx, &options, NULL, &ticket));
  for (int i = 0; !after && !step->error && i < input->n_calls; i++) {
    if (!input->calls[i].discard && input->calls[i].losses.data != NULL) record(ctx, ticket, &input->calls[i], &totals);
  }
  if (!after) ok(ctx, "tokavg_flush", tokavg_flush(ctx, NULL));
  tokavg_result_t result = {.struct_size = sizeof result};
  const tokavg_status_t status =
      tokavg_wait(ctx, ticket, step->losses ? TOKAVG_WAIT_LOSS : TOKAVG_WAIT_COUNT, -1, &result);
  (void)fprintf(out, "step %d status %d\n", index, status);
  if (status >= 0) put_result(ctx, ticket, c->config.terms == 0 ? 1 : c->config.terms, after, &totals, &result);
}

/* comm is the address of an MPI communicator; NULL: this rank alone. */
static void run_case(const contract_case_t *c, int rank, const void *comm, int after) {
  (void)fprintf(out, "case %s %s rank %d\n", c->id, after ? "after" : "before", rank);
  tokavg_config_t config = c->config;
  config.comm_kind = comm == NULL || c->self ? TOKAVG_COMM_SELF : TOKAVG_COMM_MPI;
  config.comm = config.comm_kind == TOKAVG_COMM_MPI ? comm : NULL;
  if (config.label_copies > 1) config.label_copy_index = rank % config.label_copies;
  config.asks_only = c->steps[0].ranks[rank].asks_only;
  tokavg_context_t *ctx = NULL;
  if (!ok(NULL, "tokavg_init", tokavg_init(&config, &ctx))) return;
  for (int i = 0; i < c->n_steps; i++) run_step(ctx, c, i, rank, after);
  ok(ctx, "tokavg_finalize", tokavg_finalize(ctx));
  ok(ctx, "tokavg_free", tokavg_free(ctx));
}

static void run(const contract_case_t *c, int mpi, int after) {
  if (!mpi) {
    for (int rank = 0; rank < c->ranks && (c->ranks == 1 || c->self); rank++) run_case(c, rank, NULL, after);
    return;
  }
  if (c->ranks > lang_mpi_size()) return;
  const void *comm = lang_mpi_split(c->ranks);
  if (comm != NULL) run_case(c, lang_mpi_rank(), comm, after);
  lang_mpi_free_split();
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  const int mpi = strcmp(argv[1], "mpi") == 0;
  if (mpi) lang_mpi_start(0);
  char name[4096];
  (void)snprintf(name, sizeof name, "%s.%d", argv[3], mpi ? lang_mpi_rank() : 0);
  out = fopen(name, "w");
  FILE *file = fopen(argv[2], "r");
  if (out == NULL || file == NULL) return 2;
  for (int left = read_count(file); left > 0; left--) {
    contract_case_t c;
    read_case(file, &c);
    run(&c, mpi, 0);
    run(&c, mpi, 1);
    free_case(&c);
  }
  (void)fclose(file);
  const int failed = fclose(out) != 0;
  if (mpi) lang_mpi_stop();
  return failed;
}
