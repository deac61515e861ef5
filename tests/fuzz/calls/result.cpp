// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <string>

#include "calls/calls.hpp"

namespace fuzz {
namespace {

std::int64_t shown(Tokens tokens) { return static_cast<std::int64_t>(tokens); }

struct Sums {
  Counts counts;
  bool known = true;    // all ranks have closed the step
  bool failed = false;  // one of them must have failed in it
};

Sums sums_of(const World& world, const Rank& rank, std::size_t index) {
  Sums sums;
  for (const Rank* member : world.team_of(rank)) {
    if (member->steps.size() <= index) {
      sums.known = false;
      return sums;
    }
    const Step& step = member->steps[index];
    sums.failed = sums.failed || step.mark == Mark::kFailed;
    if (member->config.asks_only != 0 || member->config.label_copy_index != 0) continue;
    for (std::size_t t = 0; t < sums.counts.tokens.size(); ++t) sums.counts.tokens[t] += step.counts.tokens[t];
    sums.counts.microbatches += step.counts.microbatches;
  }
  return sums;
}

// A ticket's place in steps, where it is one that may be asked for.
const Step* kept(const Rank& rank, tokavg_ticket_t ticket) {
  const auto newest = static_cast<tokavg_ticket_t>(rank.steps.size());
  if (ticket < 1 || ticket > newest || ticket <= newest - rank.config.in_flight) return nullptr;
  const Step& step = rank.steps[static_cast<std::size_t>(ticket - 1)];
  return step.released ? nullptr : &step;
}

void check_sums(const World& world, const Rank& rank, tokavg_status_t status, const tokavg_result_t& result) {
  const Sums sums = sums_of(world, rank, static_cast<std::size_t>(result.ticket - 1));
  EXPECT(sums.known, "ticket %lld is complete before all ranks closed it", static_cast<long long>(result.ticket));
  EXPECT(!sums.failed, "a rank failed in ticket %lld, and nobody was told", static_cast<long long>(result.ticket));
  bool empty = true;
  const Step& own = rank.steps[static_cast<std::size_t>(result.ticket - 1)];
  for (std::size_t t = 0; t < static_cast<std::size_t>(rank.config.terms); ++t) {
    EXPECT(result.tokens[t] == sums.counts.tokens[t], "term %zu: N is %lld, counted were %lld", t,
           static_cast<long long>(result.tokens[t]), static_cast<long long>(shown(sums.counts.tokens[t])));
    EXPECT(result.local_tokens[t] == own.counts.tokens[t], "term %zu: n is %lld", t,
           static_cast<long long>(result.local_tokens[t]));
    empty = empty && result.tokens[t] == 0;
  }
  EXPECT(result.microbatches == static_cast<std::int64_t>(sums.counts.microbatches), "M is %lld",
         static_cast<long long>(result.microbatches));
  if (rank.config.divisor == TOKAVG_DIVISOR_TOKENS)
    EXPECT((status == TOKAVG_EMPTY) == empty, "%d, but N = 0 in every term: %d", status, empty ? 1 : 0);
}

void check_result(const Rank& rank, tokavg_ticket_t ticket, const tokavg_result_t& result) {
  // A reduction in which it failed may have been one ticket more, of which nobody was told.
  if (rank.dead != TOKAVG_OK && result.ticket == 0) return;
  EXPECT(result.ticket == ticket, "the result of ticket %lld is that of %lld", static_cast<long long>(ticket),
         static_cast<long long>(result.ticket));
  for (std::size_t t = 0; t < TOKAVG_MAX_TERMS; ++t) {
    const std::int64_t least = std::min({result.tokens[t], result.local_tokens[t], result.loss_tokens[t],
                                         result.nonfinite[t], result.invalid_labels[t]});
    EXPECT(least >= 0, "a number of term %zu is %lld", t, static_cast<long long>(least));
    EXPECT(!std::isnan(result.factor[t]) && std::isfinite(result.weight_sum[t]), "the factor of term %zu", t);
    const bool is_ready = (result.flags & TOKAVG_RESULT_LOSS_READY) != 0;
    EXPECT(!is_ready || result.loss_tokens[t] == result.tokens[t], "LOSS_READY without all losses");
  }
  EXPECT(result.microbatches >= 0 && result.audit_counted >= 0 && result.audit_recorded >= 0, "a number of the step");
  EXPECT(result.empty_ranks >= 0 && result.empty_ranks <= result.label_ranks, "%d empty ranks", result.empty_ranks);
  EXPECT(result.done_ranks >= 0 && result.done_ranks <= result.label_ranks, "%d done ranks", result.done_ranks);
  EXPECT(result.failed_ranks >= 0 && result.failed_ranks <= result.ranks, "%d failed ranks", result.failed_ranks);
  EXPECT(result.first_failed_rank >= -1 && result.first_failed_rank < result.ranks, "rank %d",
         result.first_failed_rank);
  EXPECT(result.exposed_seconds >= 0 && result.reduce_seconds >= 0, "times");
}

// A rank that is alone, and did nothing wrong, gets its step.
void check_alone(const Rank& rank, const Step& step, tokavg_status_t status) {
  if (rank.dependable && rank.healthy() && step.mark == Mark::kClean)
    EXPECT(status >= 0 || (status == TOKAVG_ERR_OVERFLOW && step.weighted), "%d of a step without a fault", status);
  if (step.mark == Mark::kFailed) EXPECT(status < 0 || status == TOKAVG_PENDING, "%d of a failed step", status);
}

}  // namespace

tokavg_ticket_t a_ticket(Reader& in, const Handle& handle) {
  static constexpr tokavg_ticket_t kOther[] = {0, TOKAVG_OPEN, -2, 1, INT64_MAX, INT64_MIN};
  const auto newest = handle.rank != nullptr ? static_cast<tokavg_ticket_t>(handle.rank->steps.size()) : 0;
  return in.one_in(8) ? in.pick_or_any(kOther) : newest - static_cast<tokavg_ticket_t>(in.below(16) % 5);
}

void wait(Reader& in, World& world, const Handle& handle) {
  Arguments arguments(in);
  const tokavg_ticket_t ticket = a_ticket(in, handle);
  const std::int32_t what = in.one_in(24) ? in.value<std::int32_t>() : static_cast<std::int32_t>(1 + in.below(2));
  static constexpr std::int64_t kTimes[] = {0, -1, 1, -2, INT64_MAX, INT64_MIN};
  const std::int64_t timeout_ms = in.pick(kTimes);
  if (what < 1 || what > 2 || timeout_ms < -1) arguments.spoil();
  tokavg_result_t* const result = in.one_in(8) ? nullptr : arguments.present(tokavg_result_t{}, Use::kOutput);
  std::uint32_t size = 0;
  if (result != nullptr) std::memcpy(&size, result, sizeof size);
  arguments.memory().remember();
  const tokavg_status_t status = tokavg_wait(handle.ctx, ticket, what, timeout_ms, result);
  check_status(handle, status, false);
  EXPECT(status < 0 || !arguments.must_fail(), "tokavg_wait accepted what is wrong");
  const Step* step = handle.rank != nullptr ? kept(*handle.rank, ticket) : nullptr;
  if (step == nullptr || arguments.must_fail()) {
    EXPECT(status < 0, "tokavg_wait: %d", status);
    // Of a context that failed in a reduction there may be one ticket more, of which nobody was told.
    if (handle.rank == nullptr || handle.rank->dead == TOKAVG_OK || arguments.must_fail())
      arguments.memory().check(true);
    return;
  }
  const Rank& rank = *handle.rank;
  if (what == TOKAVG_WAIT_COUNT) check_alone(rank, *step, status);
  EXPECT(what == TOKAVG_WAIT_LOSS || !rank.dependable || status != TOKAVG_PENDING, "its sums complete at once");
  if (result == nullptr || size < sizeof *result) return;
  EXPECT(result->struct_size == size, "struct_size was changed");
  check_result(rank, ticket, *result);
  if (status == TOKAVG_OK || status == TOKAVG_EMPTY) check_sums(world, rank, status, *result);
}

void factor(Reader& in, const Handle& handle) {
  Arguments arguments(in);
  const tokavg_ticket_t ticket = a_ticket(in, handle);
  const std::int32_t term = arguments.term(handle.rank != nullptr ? handle.rank->config.terms : 2);
  const std::int32_t kind = in.one_in(24) ? in.value<std::int32_t>() : static_cast<std::int32_t>(1 + in.below(3));
  if (kind < 1 || kind > 3) arguments.spoil();
  double value = -7;
  const bool nowhere = in.one_in(32);
  const tokavg_status_t status = tokavg_factor(handle.ctx, ticket, term, kind, nowhere ? nullptr : &value);
  check_status(handle, status, false);
  EXPECT(status == TOKAVG_OK || status < 0, "tokavg_factor: %d", status);
  EXPECT(status < 0 || !(nowhere || arguments.must_fail()), "tokavg_factor accepted what is wrong");
  EXPECT(status == TOKAVG_OK || value == -7, "the factor of a failed call was written");
  if (status != TOKAVG_OK) return;
  const Step* step = kept(*handle.rank, ticket);
  EXPECT(step != nullptr && step->mark != Mark::kFailed, "the factor of a ticket that has none");
  EXPECT(!std::isnan(value) && !std::signbit(value), "the factor is %g", value);
  const tokavg_config_t& config = handle.rank->config;
  const Tokens n = step->counts.tokens[static_cast<std::size_t>(term)];
  if (!handle.rank->dependable || kind != TOKAVG_FACTOR_SCALE || config.divisor != TOKAVG_DIVISOR_TOKENS) return;
  const double group = config.gradient_reduction == TOKAVG_GRADIENT_SUM || config.gradient_ranks == 0
                           ? 1.0
                           : static_cast<double>(config.gradient_ranks);
  const double right = n == 0 ? 0.0 : group * step->accumulation_divisor / static_cast<double>(n);
  EXPECT(std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(right), "f is %g, not %g", value, right);
}

void factor_device(Reader& in, const Handle& handle) {
  const float* where = reinterpret_cast<const float*>(std::uintptr_t{1} << 44);
  const float* const before = where;
  const tokavg_status_t status = tokavg_factor_device(handle.ctx, a_ticket(in, handle),
                                                      static_cast<std::int32_t>(in.below(3)), 1, nullptr, &where);
  check_status(handle, status, false);
  EXPECT(status < 0 && where == before, "tokavg_factor_device on a host: %d", status);
}

void release(Reader& in, const Handle& handle) {
  const tokavg_ticket_t ticket = a_ticket(in, handle);
  const tokavg_status_t status = tokavg_release(handle.ctx, ticket);
  check_status(handle, status, true);
  const bool right = handle.rank != nullptr && handle.rank->healthy() && kept(*handle.rank, ticket) != nullptr;
  EXPECT((status == TOKAVG_OK) == right, "tokavg_release: %d", status);
  if (right) handle.rank->steps[static_cast<std::size_t>(ticket - 1)].released = true;
}

void read_texts(Reader& in, World& world, const Handle& handle) {
  static constexpr std::int64_t kCapacities[] = {0, 1, 2, 10, 4096, -1, INT64_MIN};
  const std::int64_t capacity = in.pick(kCapacities);
  const auto room = static_cast<std::size_t>(std::max<std::int64_t>(capacity, 0));
  Memory memory;
  char* const text = reinterpret_cast<char*>(memory.block(room, Use::kOutput));
  const bool nowhere = in.one_in(8);
  const bool describes = !world.described && in.coin();
  world.described = world.described || describes;
  std::int64_t needed = -7;
  const auto function = describes ? tokavg_describe : tokavg_last_error;
  memory.remember();
  const tokavg_status_t status = function(handle.ctx, nowhere ? nullptr : text, capacity, &needed);
  memory.check(status < 0 || nowhere);
  const bool wrong = capacity < 0 || (nowhere && capacity > 0);
  if (handle.ctx == nullptr) {
    check_thread_text(status);
  } else {
    check_status(handle, status, false);
    if (handle.rank == nullptr) return;
  }
  EXPECT(status == (wrong ? TOKAVG_ERR_ARGUMENT : TOKAVG_OK), "%d with capacity %lld", status,
         static_cast<long long>(capacity));
  EXPECT((needed == -7) == wrong, "needed_out is %lld", static_cast<long long>(needed));
  if (wrong || room == 0) return;
  EXPECT(std::memchr(text, 0, room) != nullptr, "no zero at the end of a text");
  EXPECT(static_cast<std::int64_t>(std::strlen(text)) == std::min(capacity, needed) - 1, "a text of %zu bytes",
         std::strlen(text));
}

void whole_step(World& world, const Handle& handle) {
  if (handle.rank == nullptr) return;
  Reader nothing(nullptr, 0);
  for (const auto& rank : world.ranks) {
    if (rank->team == handle.rank->team) reduce(nothing, {rank->ctx, rank->live ? rank.get() : nullptr});
  }
  tokavg_result_t result{};
  result.struct_size = sizeof result;
  const auto ticket = static_cast<tokavg_ticket_t>(handle.rank->steps.size());
  const tokavg_status_t status = tokavg_wait(handle.ctx, ticket, TOKAVG_WAIT_COUNT, -1, &result);
  check_status(handle, status, false);
  const Step* step = kept(*handle.rank, ticket);
  if (step == nullptr) return;
  check_alone(*handle.rank, *step, status);
  check_result(*handle.rank, ticket, result);
  if (status == TOKAVG_OK || status == TOKAVG_EMPTY) check_sums(world, *handle.rank, status, result);
}

}  // namespace fuzz
