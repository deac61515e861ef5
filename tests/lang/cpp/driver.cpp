// SPDX-License-Identifier: Apache-2.0
// driver self|mpi CASES OUT: the contract cases through tokavg.hpp; ../README.md says what is done and written.
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <tokavg/tokavg.hpp>

extern "C" {
#include "../c/cases.h"
}
#include "../mpi/lang_mpi.h"

namespace {

FILE* out;

void put_bits(double value) { std::fprintf(out, " %016" PRIx64, std::bit_cast<std::uint64_t>(value)); }

tokavg::Array typed(const tokavg_array_t& array) {
  switch (array.dtype) {
    case TOKAVG_DTYPE_I32: return tokavg::Array(static_cast<std::int32_t*>(array.data));
    case TOKAVG_DTYPE_I64: return tokavg::Array(static_cast<std::int64_t*>(array.data));
    case TOKAVG_DTYPE_U8: return tokavg::Array(static_cast<std::uint8_t*>(array.data));
    case TOKAVG_DTYPE_F32: return tokavg::Array(static_cast<float*>(array.data));
    case TOKAVG_DTYPE_F64: return tokavg::Array(static_cast<double*>(array.data));
    default: return {};
  }
}

tokavg::Labels labels_of(const call_t& call) {
  const tokavg_labels_t& c = call.labels;
  return {.rows = c.rows,
          .cols = c.cols,
          .labels = typed(c.labels),
          .mask = typed(c.mask),
          .weights = typed(c.weights),
          .shift = c.shift,
          .term = c.term,
          .same_microbatch = (c.flags & TOKAVG_LABELS_SAME_MICROBATCH) != 0};
}

tokavg::Options options_of(const contract_case& c, int rank) {
  const tokavg_config_t& config = c.config;
  return {.gradient = static_cast<tokavg::Gradient>(config.gradient_reduction),
          .gradient_ranks = config.gradient_ranks,
          .label_copies = config.label_copies,
          .label_copy_index = config.label_copies > 1 ? rank % config.label_copies : 0,
          .asks_only = c.steps[0].ranks[rank].asks_only != 0,
          .microbatch_shards = config.microbatch_shards,
          .accumulation_divisor = config.accumulation_divisor,
          .ignore_index = config.ignore_index,
          .divisor = static_cast<tokavg::Divisor>(config.divisor),
          .terms = config.terms,
          .timeout_ms = config.timeout_ms};
}

// One rank's way through one case.
class Run {
 public:
  Run(const contract_case& c, int rank, bool after, const tokavg::Communicator& comm)
      : case_(c), rank_(rank), after_(after), context_(comm, options_of(c, rank)) {}

  void steps() {
    for (int i = 0; i < case_.n_steps; ++i) step(i);
    context_.finalize();
  }

 private:
  struct Totals {
    std::array<double, TOKAVG_MAX_TERMS> backward{};
    std::array<double, TOKAVG_MAX_TERMS> sum{};
  };

  void record(tokavg::Ticket ticket, const call_t& call, Totals& totals) {
    const tokavg::Labels labels = labels_of(call);
    const tokavg::Recorded recorded = context_.loss(ticket, {.losses = typed(call.losses), .labels = labels});
    if (call.discard != 0) return;
    totals.backward[static_cast<std::size_t>(labels.term)] += recorded.backward;
    totals.sum[static_cast<std::size_t>(labels.term)] += recorded.sum;
  }

  void count(const rank_input_t& input, Totals& totals) {
    for (int i = 0; i < input.n_calls; ++i) {
      const call_t& call = input.calls[i];
      context_.count(labels_of(call));
      if (after_ && call.losses.data != nullptr) record(tokavg::kOpen, call, totals);
      const bool last =
          i + 1 == input.n_calls || (input.calls[i + 1].labels.flags & TOKAVG_LABELS_SAME_MICROBATCH) == 0;
      if (call.discard != 0 && last) context_.discard();
    }
  }

  void step(int index) {
    const step_t& step = case_.steps[index];
    const rank_input_t& input = step.ranks[rank_];
    Totals totals;
    count(input, totals);
    const tokavg::Ticket ticket = context_.reduce({.done = input.done != 0});
    for (int i = 0; !after_ && step.error == 0 && i < input.n_calls; ++i) {
      if (input.calls[i].discard == 0 && input.calls[i].losses.data != nullptr) record(ticket, input.calls[i], totals);
    }
    if (!after_) context_.flush();
    std::error_code code;
    const tokavg::Step got =
        context_.wait(ticket, step.losses != 0 ? tokavg::Wait::loss : tokavg::Wait::count, -1, code);
    std::fprintf(out, "step %d status %d\n", index, code ? code.value() : static_cast<int>(got.state));
    if (!code) put(ticket, got.result, totals);
  }

  void put(tokavg::Ticket ticket, const tokavg_result_t& result, const Totals& totals) {
    const int terms = case_.config.terms == 0 ? 1 : case_.config.terms;
    for (int t = 0; t < terms; ++t) {
      const auto i = static_cast<std::size_t>(t);
      std::fprintf(out, "term %d %" PRId64 " %" PRId64 " %" PRId64, t, result.tokens[i], result.nonfinite[i],
                   result.loss_tokens[i]);
      const double factor = context_.factor(ticket, t);
      for (const double value :
           {result.weight_sum[i], result.factor[i], factor, context_.factor(ticket, t, tokavg::Factor::report),
            result.mean_loss[i], totals.backward[i], totals.sum[i]}) {
        put_bits(value);
      }
      if (after_) {
        put_scaled(ticket, t, factor);
      } else {
        std::fputs(" - -", out);
      }
      std::fputs("\n", out);
    }
    std::fprintf(out, "end %" PRId64, result.microbatches);
    put_bits(context_.factor(ticket, 0, tokavg::Factor::microbatch));
    std::fprintf(out, " %d %d %d %d %u\n", result.empty_ranks, result.done_ranks, result.failed_ranks, result.ranks,
                 result.flags);
  }

  void put_scaled(tokavg::Ticket ticket, int term, double factor) {
    std::array<double, 1> wide{factor == 0 ? std::numeric_limits<double>::quiet_NaN() : 3.0};
    std::array<float, 1> narrow{factor == 0 ? std::numeric_limits<float>::quiet_NaN() : 3.0F};
    const std::array items{tokavg::Context::item_of(wide), tokavg::Context::item_of(narrow)};
    context_.scale(ticket, items, term);
    put_bits(wide[0]);
    put_bits(static_cast<double>(narrow[0]));
  }

  const contract_case& case_;
  const int rank_;
  const bool after_;
  tokavg::Context context_;
};

void run_case(const contract_case& c, int rank, bool after, const tokavg::Communicator& comm) {
  std::fprintf(out, "case %s %s rank %d\n", c.id, after ? "after" : "before", rank);
  try {
    Run(c, rank, after, comm).steps();
  } catch (const std::exception& error) {
    std::fprintf(out, "fault %s\n", error.what());
  }
}

void run(const contract_case& c, bool mpi, bool after) {
  if (!mpi) {
    for (int rank = 0; rank < c.ranks && (c.ranks == 1 || c.self != 0); ++rank) {
      run_case(c, rank, after, tokavg::self());
    }
    return;
  }
  if (c.ranks > lang_mpi_size()) return;
  if (const void* comm = lang_mpi_split(c.ranks); comm != nullptr) {
    run_case(c, lang_mpi_rank(), after, c.self != 0 ? tokavg::self() : tokavg::Communicator{TOKAVG_COMM_MPI, comm});
  }
  lang_mpi_free_split();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const bool mpi = std::strcmp(argv[1], "mpi") == 0;
  if (mpi) lang_mpi_start(0);
  const std::string name = std::string(argv[3]) + "." + std::to_string(mpi ? lang_mpi_rank() : 0);
  out = std::fopen(name.c_str(), "w");
  FILE* file = std::fopen(argv[2], "r");
  if (out == nullptr || file == nullptr) return 2;
  for (int left = read_count(file); left > 0; --left) {
    contract_case c;
    read_case(file, &c);
    run(c, mpi, false);
    run(c, mpi, true);
    free_case(&c);
  }
  std::fclose(file);
  const bool failed = std::fclose(out) != 0;
  if (mpi) lang_mpi_stop();
  return failed ? 1 : 0;
}
