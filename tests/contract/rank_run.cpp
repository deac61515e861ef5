// SPDX-License-Identifier: Apache-2.0
#include "contract/rank_run.hpp"

#include <limits>

#include "contract/arrays.hpp"

namespace contract {
namespace {

class RankRun {
 public:
  RankRun(const Case& the_case, Mode mode, Team& team)
      : case_(the_case), mode_(mode), rank_(static_cast<std::size_t>(team.rank())), memory_(team.memory()) {
    tokavg_config_t config = the_case.config;
    if (the_case.self) {
      memory_.configure(config);
      config.comm_kind = TOKAVG_COMM_SELF;
    } else {
      team.configure(config);
    }
    terms_ = config.terms == 0 ? 1 : static_cast<std::size_t>(config.terms);
    if (config.label_copies > 1) config.label_copy_index = team.rank() % config.label_copies;
    config.asks_only = the_case.steps.front().ranks[rank_].asks_only ? 1 : 0;
    config.timeout_ms = 60000;
    expect_ok(tokavg_init(&config, &context_), "tokavg_init");
  }
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;
  ~RankRun() { tokavg_free(context_); }

  RankRecord run() {
    if (context_ == nullptr) return record_;
    for (const Step& step : case_.steps) {
      run_step(step);
      if (!record_.faults.empty()) return record_;
    }
    expect_ok(tokavg_finalize(context_), "tokavg_finalize");
    return record_;
  }

 private:
  void expect_ok(tokavg_status_t status, const char* call) {
    if (status == TOKAVG_OK) return;
    record_.faults.push_back(std::string(call) + ": " + status_text(status, context_));
  }

  void run_step(const Step& step) {
    StepRecord record;
    record.backward.assign(terms_, 0.0);
    record.sums.assign(terms_, 0.0);
    const RankInput& input = step.ranks[rank_];
    count(input, record);
    const tokavg_ticket_t ticket = reduce(input);
    if (mode_ == Mode::kBefore) {
      // Where the step is to fail every use of its ticket does, so its losses are not a fault of the calls.
      if (step.expect.front().status >= 0) record_losses(input, ticket, record);
      expect_ok(tokavg_flush(context_, memory_.stream()), "tokavg_flush");
    }
    read(step, ticket, record);
    memory_.clear();
    record_.steps.push_back(std::move(record));
  }

  // Counts, and in mode kAfter records each loss as a streaming trainer does.
  void count(const RankInput& input, StepRecord& record) {
    for (std::size_t i = 0; i < input.calls.size(); ++i) {
      const Call& call = input.calls[i];
      const Arrays arrays(call, memory_);
      expect_ok(tokavg_count(context_, &arrays.labels(), memory_.stream()), "tokavg_count");
      if (mode_ == Mode::kAfter && call.losses) record_loss(call, arrays, TOKAVG_OPEN, record);
      const bool last_of_microbatch = i + 1 == input.calls.size() || !input.calls[i + 1].same;
      if (call.discard && last_of_microbatch) expect_ok(tokavg_discard(context_), "tokavg_discard");
    }
  }

  tokavg_ticket_t reduce(const RankInput& input) {
    tokavg_reduce_t options{};
    options.struct_size = static_cast<std::uint32_t>(sizeof options);
    options.flags = input.done ? static_cast<std::uint32_t>(TOKAVG_REDUCE_DONE) : 0U;
    tokavg_ticket_t ticket = 0;
    expect_ok(tokavg_reduce(context_, input.done ? &options : nullptr, memory_.stream(), &ticket), "tokavg_reduce");
    return ticket;
  }

  void record_losses(const RankInput& input, tokavg_ticket_t ticket, StepRecord& record) {
    for (const Call& call : input.calls) {
      if (call.discard || !call.losses) continue;
      record_loss(call, Arrays(call, memory_), ticket, record);
    }
  }

  void record_loss(const Call& call, const Arrays& arrays, tokavg_ticket_t ticket, StepRecord& record) {
    float backward_float = 0;
    double backward = 0;
    double sum = 0;
    tokavg_loss_t loss = arrays.loss();
    const bool is_float = call.loss_dtype == TOKAVG_DTYPE_F32;
    loss.backward_out =
        is_float ? memory_.put(&backward_float, sizeof backward_float) : memory_.put(&backward, sizeof backward);
    loss.sum_out = static_cast<double*>(memory_.put(&sum, sizeof sum));
    expect_ok(tokavg_loss(context_, ticket, &loss, memory_.stream()), "tokavg_loss");
    if (call.discard) return;
    if (is_float) memory_.get(&backward_float, loss.backward_out, sizeof backward_float);
    if (!is_float) memory_.get(&backward, loss.backward_out, sizeof backward);
    memory_.get(&sum, loss.sum_out, sizeof sum);
    const auto term = static_cast<std::size_t>(call.term);
    record.backward[term] += is_float ? static_cast<double>(backward_float) : backward;
    record.sums[term] += sum;
  }

  void read(const Step& step, tokavg_ticket_t ticket, StepRecord& record) {
    record.waited_for_losses = step.has_losses();
    record.result.struct_size = static_cast<std::uint32_t>(sizeof record.result);
    const std::int32_t what = record.waited_for_losses ? TOKAVG_WAIT_LOSS : TOKAVG_WAIT_COUNT;
    record.status = tokavg_wait(context_, ticket, what, -1, &record.result);
    if (record.status < 0) return;
    record.factor.assign(terms_, 0.0);
    record.report.assign(terms_, 0.0);
    for (std::size_t term = 0; term < terms_; ++term) {
      const auto t = static_cast<std::int32_t>(term);
      expect_ok(tokavg_factor(context_, ticket, t, TOKAVG_FACTOR_SCALE, &record.factor[term]), "tokavg_factor");
      expect_ok(tokavg_factor(context_, ticket, t, TOKAVG_FACTOR_REPORT, &record.report[term]), "tokavg_factor");
    }
    expect_ok(tokavg_factor(context_, ticket, 0, TOKAVG_FACTOR_MICROBATCH, &record.microbatch_factor), "tokavg_factor");
    if (mode_ == Mode::kAfter) scale(ticket, record);
  }

  // A gradient of each type; where the factor is 0 a NaN must become zero too.
  void scale(tokavg_ticket_t ticket, StepRecord& record) {
    for (std::size_t term = 0; term < terms_; ++term) {
      const bool nothing = record.factor[term] == 0;
      double wide = nothing ? std::numeric_limits<double>::quiet_NaN() : 3.0;
      float narrow = nothing ? std::numeric_limits<float>::quiet_NaN() : 3.0F;
      const tokavg_scale_item_t items[2] = {
          {memory_.put(&wide, sizeof wide), 1, TOKAVG_DTYPE_F64, memory_.kind()},
          {memory_.put(&narrow, sizeof narrow), 1, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_AUTO}};
      tokavg_scale_t scale{};
      scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
      scale.item_size = static_cast<std::uint32_t>(sizeof items[0]);
      scale.items = items;
      scale.n_items = 2;
      scale.term = static_cast<std::int32_t>(term);
      scale.kind = TOKAVG_FACTOR_SCALE;
      expect_ok(tokavg_scale(context_, ticket, &scale, memory_.stream()), "tokavg_scale");
      memory_.get(&wide, items[0].data, sizeof wide);
      memory_.get(&narrow, items[1].data, sizeof narrow);
      record.scaled.push_back(wide);
      record.scaled_float.push_back(narrow);
    }
  }

  const Case& case_;
  const Mode mode_;
  const std::size_t rank_;
  Memory& memory_;
  std::size_t terms_ = 1;
  tokavg_context_t* context_ = nullptr;
  RankRecord record_;
};

}  // namespace

RankRecord run_rank(const Case& the_case, Mode mode, Team& team) { return RankRun(the_case, mode, team).run(); }

}  // namespace contract
