// SPDX-License-Identifier: Apache-2.0
#include "contract/compare.hpp"

#include <bit>
#include <cmath>
#include <cstdio>

namespace contract {
namespace {

std::string shown(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%a (%.17g)", value, value);
  return text;
}

std::string shown(std::int64_t value) { return std::to_string(value); }

// Checks the fields of one step on one rank.
class Checker {
 public:
  Checker(std::string where, std::vector<std::string>& lines) : where_(std::move(where)), lines_(lines) {}

  template <typename Value>
  void differs(const std::string& field, Value expected, Value got) {
    lines_.push_back(where_ + field + ": expected " + shown(expected) + ", got " + shown(got));
  }

  void equal(const std::string& field, std::int64_t expected, std::int64_t got) {
    if (expected != got) differs(field, expected, got);
  }

  void same_bits(const std::string& field, double expected, double got) {
    if (std::bit_cast<std::uint64_t>(expected) != std::bit_cast<std::uint64_t>(got)) differs(field, expected, got);
  }

  void status(tokavg_status_t expected, tokavg_status_t got) {
    if (expected == got) return;
    lines_.push_back(where_ + "status: expected " + tokavg_status_name(expected) + ", got " + tokavg_status_name(got));
  }

  // 4 ulp of the type of the losses at the expected value.
  void close(const std::string& field, double expected, double got, bool is_float) {
    if (std::isnan(expected) && std::isnan(got)) return;
    const double size = std::fabs(expected);
    const double ulp =
        is_float ? static_cast<double>(std::nextafter(static_cast<float>(size), INFINITY) - static_cast<float>(size))
                 : std::nextafter(size, INFINITY) - size;
    if (!(std::fabs(expected - got) <= 4 * ulp)) differs(field, expected, got);
  }

 private:
  std::string where_;
  std::vector<std::string>& lines_;
};

std::string at(const char* field, std::size_t term) { return std::string(field) + "[" + std::to_string(term) + "]"; }

bool has_float_losses(const RankInput& input, std::size_t term) {
  for (const Call& call : input.calls) {
    if (static_cast<std::size_t>(call.term) == term && call.loss_dtype == TOKAVG_DTYPE_F32) return true;
  }
  return false;
}

double divisor(const Case& the_case, const Expect& expect, std::size_t term) {
  return the_case.config.divisor == TOKAVG_DIVISOR_WEIGHTS ? expect.weight_sum[term]
                                                           : static_cast<double>(expect.tokens[term]);
}

void check_term(const Case& the_case, const Expect& expect, const StepRecord& record, std::size_t term,
                Checker& check) {
  const tokavg_result_t& result = record.result;
  check.equal(at("tokens", term), expect.tokens[term], result.tokens[term]);
  check.equal(at("nonfinite", term), expect.nonfinite[term], result.nonfinite[term]);
  check.same_bits(at("weight_sum", term), expect.weight_sum[term], result.weight_sum[term]);
  check.same_bits(at("result.factor", term), expect.factor[term], result.factor[term]);
  check.same_bits(at("tokavg_factor", term), expect.factor[term], record.factor[term]);
  check.same_bits(at("mean_loss", term), expect.mean_loss[term], result.mean_loss[term]);
  const double z = divisor(the_case, expect, term);
  check.same_bits(at("report factor", term), z == 0 ? 0.0 : 1.0 / z, record.report[term]);
  if (record.waited_for_losses) check.equal(at("loss_tokens", term), expect.tokens[term], result.loss_tokens[term]);
}

// On a ticket backward_out is S * f; on the open step it is S, and what tokavg_scale multiplies with completes it.
void check_backward(const Expect& expect, Mode mode, const RankInput& input, std::size_t expect_rank,
                    const StepRecord& record, std::size_t term, Checker& check) {
  const double f = expect.factor[term];
  const auto scaled = [f](double value) { return f == 0 ? 0.0 : value * f; };  // zero wins over NaN
  const double got = mode == Mode::kBefore ? record.backward[term] : scaled(record.backward[term]);
  check.close(at("backward", term), expect.backward[expect_rank][term], got, has_float_losses(input, term));
  // The sum is the same number in double, so it is held to double's ulp.
  check.close(at("sum_out * factor", term), expect.backward[expect_rank][term], scaled(record.sums[term]), false);
  if (mode == Mode::kBefore) return;
  check.same_bits(at("scaled double", term), 3.0 * f, record.scaled[term]);
  check.close(at("scaled float", term), 3.0 * f, static_cast<double>(record.scaled_float[term]), true);
}

void check_flags(const Expect& expect, const StepRecord& record, Checker& check) {
  std::uint32_t flags = 0;
  for (const std::int64_t nonfinite : expect.nonfinite) {
    if (nonfinite != 0) flags |= TOKAVG_RESULT_NONFINITE;
  }
  if (record.waited_for_losses) flags |= TOKAVG_RESULT_LOSS_READY;
  // Without losses nothing is said about whether they are complete.
  const std::uint32_t ignored = record.waited_for_losses ? 0U : static_cast<std::uint32_t>(TOKAVG_RESULT_LOSS_READY);
  check.equal("flags", flags, record.result.flags & ~ignored);
}

void check_step(const Case& the_case, Mode mode, std::size_t rank, const Step& step, const StepRecord& record,
                Checker& check) {
  const bool own = step.expect.size() > 1;  // one expectation a rank
  const Expect& expect = own ? step.expect[rank] : step.expect.front();
  check.status(expect.status, record.status);
  if (!expect.has_numbers || record.status != expect.status) return;
  for (std::size_t term = 0; term < expect.tokens.size(); ++term) {
    check_term(the_case, expect, record, term, check);
    check_backward(expect, mode, step.ranks[rank], own ? 0 : rank, record, term, check);
  }
  check.equal("microbatches", expect.microbatches, record.result.microbatches);
  check.same_bits("microbatch_factor", expect.microbatch_factor, record.microbatch_factor);
  check.equal("empty_ranks", expect.empty_ranks, record.result.empty_ranks);
  check.equal("done_ranks", expect.done_ranks, record.result.done_ranks);
  check.equal("failed_ranks", 0, record.result.failed_ranks);
  check.equal("ranks", own ? 1 : static_cast<std::int64_t>(step.ranks.size()), record.result.ranks);
  check_flags(expect, record, check);
}

}  // namespace

std::vector<std::string> compare(const Case& the_case, Mode mode, int rank, const RankRecord& record) {
  std::vector<std::string> lines;
  const std::string who = "rank " + std::to_string(rank);
  for (const std::string& fault : record.faults) lines.push_back(who + ": " + fault);
  for (std::size_t i = 0; i < record.steps.size(); ++i) {
    Checker check(who + " step " + std::to_string(i + 1) + " ", lines);
    check_step(the_case, mode, static_cast<std::size_t>(rank), the_case.steps[i], record.steps[i], check);
  }
  if (lines.empty() && record.steps.size() != the_case.steps.size()) lines.push_back(who + ": steps are missing");
  return lines;
}

}  // namespace contract
