// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "calls/calls.hpp"

namespace fuzz {
namespace {

const tokavg_config_t& config_of(const Handle& handle) {
  static const tokavg_config_t kAny = [] {
    tokavg_config_t config{};
    config.terms = 2;
    return config;
  }();
  return handle.rank != nullptr ? handle.rank->config : kAny;
}

// A call that changes the open step, and fails, ends it.
void note(const Handle& handle, tokavg_status_t status) {
  if (handle.rank != nullptr && handle.rank->healthy() && status < 0) handle.rank->blame(Mark::kFailed);
}

void begin(Rank& rank, std::uint64_t microbatches) {
  if (microbatches == 0) return;
  rank.before = rank.open;
  rank.can_discard = true;
  rank.open.microbatches += microbatches;
}

}  // namespace

void count(Reader& in, const Handle& handle) {
  Arguments arguments(in);
  const tokavg_config_t& config = config_of(handle);
  const std::int64_t rows = arguments.length();
  const std::int64_t cols = arguments.length();
  const tokavg_labels_t labels = arguments.labels(config, rows, cols, 4);
  const tokavg_labels_t* const given = in.one_in(32) ? nullptr : arguments.present(labels);
  arguments.memory().remember();
  const tokavg_status_t status = tokavg_count(handle.ctx, given, nullptr);
  arguments.memory().check(status < 0);
  check_status(handle, status, true);
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_count: %d", status);
  EXPECT(status < 0 || (given != nullptr && !arguments.must_fail()), "tokavg_count accepted what is wrong");
  note(handle, status);
  if (status != TOKAVG_OK) return;
  Rank& rank = *handle.rank;
  const bool same = (labels.flags & TOKAVG_LABELS_SAME_MICROBATCH) != 0;
  EXPECT(!same || rank.can_discard, "there was no microbatch to belong to");
  EXPECT(config.asks_only == 0, "a rank that only asks has counted");
  begin(rank, same ? 0 : 1);
  rank.open.tokens[static_cast<std::size_t>(labels.term)] += count_scored(labels, config.ignore_index);
  if (labels.weights.data != nullptr) rank.weighted = true;
}

void count_add(Reader& in, const Handle& handle) {
  const tokavg_config_t& config = config_of(handle);
  Arguments arguments(in);
  const std::int32_t term = arguments.term(config.terms);
  const auto tokens = in.coin() ? std::int64_t{in.byte()} : in.pick_or_any<std::int64_t>({0, -1, INT64_MAX, 1LL << 62});
  const double weight_sum = in.coin() ? 0.0 : in.pick_or_any<double>({1, -1, 0x1p54, 0x1.1p54, HUGE_VAL, 1e-30});
  const auto microbatches =
      in.coin() ? std::int64_t{1} : in.pick_or_any<std::int64_t>({0, -1, (1LL << 32) - 1, 1LL << 32, 1LL << 31, 2});
  const tokavg_status_t status = tokavg_count_add(handle.ctx, term, tokens, weight_sum, microbatches);
  check_status(handle, status, true);
  const bool wrong = arguments.must_fail() || tokens < 0 || !(std::fabs(weight_sum) <= 0x1p54) || microbatches < 0 ||
                     microbatches >= 1LL << 32;
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_count_add: %d", status);
  EXPECT(status < 0 || !wrong, "tokavg_count_add accepted what is wrong");
  note(handle, status);
  if (status != TOKAVG_OK) return;
  Rank& rank = *handle.rank;
  begin(rank, static_cast<std::uint64_t>(microbatches));
  Tokens& so_far = rank.open.tokens[static_cast<std::size_t>(term)];
  so_far += tokens;
  EXPECT(so_far <= INT64_MAX && rank.open.microbatches < 1ULL << 32, "more than a rank may have");
  if (weight_sum != 0) rank.weighted = true;
}

void discard(const Handle& handle) {
  const tokavg_status_t status = tokavg_discard(handle.ctx);
  check_status(handle, status, true);
  note(handle, status);
  if (status != TOKAVG_OK) return;
  Rank& rank = *handle.rank;
  EXPECT(rank.can_discard, "tokavg_discard took back what was not there");
  rank.open = rank.before;
  rank.can_discard = false;
}

void reduce(Reader& in, const Handle& handle) {
  Arguments arguments(in);
  tokavg_reduce_t options{};
  options.flags = in.one_in(24) ? in.value<std::uint32_t>() : static_cast<std::uint32_t>(in.below(8) == 7 ? 1 : 0);
  options.step_id = in.coin() ? 0 : in.value<std::int64_t>();
  options.accumulation_divisor = in.coin() ? 0.0 : in.pick_or_any<double>({1, 3, -1, HUGE_VAL, 1e308, 5e-324});
  if (options.flags > 3 || !std::isfinite(options.accumulation_divisor) || options.accumulation_divisor < 0)
    arguments.spoil();
  const bool defaults = in.coin();
  const tokavg_reduce_t* const given = defaults ? nullptr : arguments.present(options);
  tokavg_ticket_t ticket = -7;
  const bool nowhere = in.one_in(32);
  arguments.memory().remember();
  const tokavg_status_t status = tokavg_reduce(handle.ctx, given, nullptr, nowhere ? nullptr : &ticket);
  arguments.memory().check(status < 0);
  check_status(handle, status, true);
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_reduce: %d", status);
  EXPECT(status < 0 || !(nowhere || (!defaults && arguments.must_fail())), "tokavg_reduce accepted what is wrong");
  const bool closes = handle.rank != nullptr && handle.rank->healthy();
  const auto next = closes ? static_cast<tokavg_ticket_t>(handle.rank->steps.size()) + 1 : 0;
  if (!nowhere)
    EXPECT(ticket == next, "the ticket is %lld, not %lld", static_cast<long long>(ticket),
           static_cast<long long>(next));
  if (!closes) return;
  Rank& rank = *handle.rank;
  if (status < 0) rank.blame(Mark::kFailed);
  Step step;
  step.counts = rank.open;
  step.mark = rank.mark;
  step.weighted = rank.weighted;
  step.accumulation_divisor =
      defaults || options.accumulation_divisor == 0 ? rank.config.accumulation_divisor : options.accumulation_divisor;
  rank.steps.push_back(step);
  rank.open = {};
  rank.can_discard = false;
  rank.weighted = false;
  rank.mark = Mark::kClean;
}

void flush(const Handle& handle) {
  const tokavg_status_t status = tokavg_flush(handle.ctx, nullptr);
  check_status(handle, status, true);
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_flush: %d", status);
}

void progress(const Handle& handle) {
  const tokavg_status_t status = tokavg_progress(handle.ctx);
  check_status(handle, status, true);
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_progress: %d", status);
}

}  // namespace fuzz
