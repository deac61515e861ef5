// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/context.hpp"

namespace tokavg {

Step* Context::kept(tokavg_ticket_t ticket) noexcept {
  const auto found =
      std::find_if(steps_.rbegin(), steps_.rend(), [=](const Step& step) { return step.ticket == ticket; });
  return found != steps_.rend() ? &*found : nullptr;
}

Step* Context::readable(tokavg_ticket_t ticket) noexcept {
  Step* step = kept(ticket);
  if (step == nullptr || step->released) return nullptr;
  return step->captured || ticket > newest_ - layout_.in_flight ? step : nullptr;
}

Step& Context::find(tokavg_ticket_t ticket) {
  const auto given = static_cast<long long>(ticket);
  if (ticket == TOKAVG_OPEN) {
    fail(TOKAVG_ERR_ARGUMENT, "ticket is TOKAVG_OPEN: the open step has no result yet; call tokavg_reduce first");
  }
  if (ticket <= 0 || ticket > newest_) {
    fail(TOKAVG_ERR_ARGUMENT, "ticket is %lld; it must come from tokavg_reduce (the newest is %lld; 0 is none)", given,
         static_cast<long long>(newest_));
  }
  if (Step* step = readable(ticket); step != nullptr) return *step;
  if (ticket <= newest_ - layout_.in_flight) {
    throw TicketError(
        TOKAVG_ERR_STALE,
        format("ticket %lld is no longer kept (the newest is %lld and config.in_flight is %d); use it sooner "
               "or raise in_flight",
               given, static_cast<long long>(newest_), layout_.in_flight));
  }
  throw TicketError(TOKAVG_ERR_STALE, format("ticket %lld was released", given));
}

namespace {

[[noreturn]] void fail_not_launched(const Step& step) {
  fail(TOKAVG_ERR_STATE, "step %lld was captured into a graph of which no replay has finished; launch it first",
       static_cast<long long>(step.ticket));
}

}  // namespace

Step& Context::completed(tokavg_ticket_t ticket) {
  check_usable(true);
  Step& step = find(ticket);
  if (!step.complete && !wait_for(step, step.sequence, -1)) fail_not_launched(step);
  if (step.failure) throw TicketError(*step.failure);
  return step;
}

tokavg_status_t Context::wait(tokavg_ticket_t ticket, std::int32_t what, std::int64_t timeout_ms,
                              tokavg_result_t* result) {
  // The result is filled in whatever the outcome, as far as the ticket is known.
  struct FillAtEnd {
    Context& context;
    tokavg_ticket_t ticket;
    tokavg_result_t* result;
    ~FillAtEnd() {
      const Step* step = result != nullptr ? context.readable(ticket) : nullptr;
      if (step != nullptr) context.fill(*step, *result);
    }
  };
  const FillAtEnd filled{*this, ticket, result};
  check_usable(true);
  Step& step = find(ticket);
  const WaitLimit limit(timeout_ms);
  if (const tokavg_status_t status = wait_counts(step, limit); status != TOKAVG_OK) return status;
  if (step.failure) throw TicketError(*step.failure);
  if (what == TOKAVG_WAIT_LOSS) {
    if (const tokavg_status_t status = wait_losses(step, limit); status != TOKAVG_OK) return status;
    if (step.loss_failure) throw TicketError(*step.loss_failure);
  }
  return step.nothing_to_divide(layout_.terms) ? TOKAVG_EMPTY : TOKAVG_OK;
}

tokavg_status_t Context::wait_counts(Step& step, const WaitLimit& limit) {
  if (step.captured) courier_->poll([this](const Message& message) { receive(message); });  // the latest replay
  if (step.complete || wait_for(step, step.sequence, limit.left_ms())) return TOKAVG_OK;
  last_text_ = format("step %lld is not complete yet%s", static_cast<long long>(step.ticket),
                      step.captured ? ": no replay of its graph has finished; launch it, then wait" : "");
  return TOKAVG_PENDING;
}

tokavg_status_t Context::wait_losses(Step& step, const WaitLimit& limit) {
  // Where the audit found them wrong they will never be complete; the flag says so.
  const auto done = [&] {
    return step.losses_complete(layout_.terms) || step.audited || step.loss_failure.has_value();
  };
  if (any_captured()) courier_->poll([this](const Message& message) { receive(message); });  // what replays brought
  while (!done() && courier_->in_flight() != 0) {
    if (wait_for(step, courier_->oldest(), limit.left_ms())) continue;
    last_text_ = format("the losses of step %lld are on their way", static_cast<long long>(step.ticket));
    return TOKAVG_PENDING;
  }
  if (done()) return TOKAVG_OK;
  last_text_ = format(
      "the losses of step %lld are not complete: record them on all ranks, then call tokavg_flush (or the next "
      "tokavg_reduce) to send them%s",
      static_cast<long long>(step.ticket),
      any_captured() ? "; what was not sent before replays of a graph were launched may have gone with those" : "");
  return TOKAVG_PENDING;
}

namespace {

// A result has signed numbers.
std::int64_t shown(std::uint64_t number) noexcept {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
}

}  // namespace

double Context::factor(tokavg_ticket_t ticket, std::int32_t term, std::int32_t kind) {
  return tokavg::factor(rule_, completed(ticket), term, kind);
}

void Context::fill(const Step& step, tokavg_result_t& result) const noexcept {
  result.ticket = step.ticket;
  result.step_id = step.step_id;
  result.ranks = transport_->ranks();
  result.label_ranks = agreed_.label_ranks;
  result.empty_ranks = step.empty_ranks;
  result.done_ranks = step.done_ranks;
  result.failed_ranks = step.failed_ranks;
  result.first_failed_rank = step.first_failed_rank;
  result.microbatches = shown(step.sums.microbatches);
  result.exposed_seconds = step.exposed_seconds;
  result.reduce_seconds = step.reduce_seconds;
  result.audit_ticket = step.audit_ticket;
  result.audit_counted = shown(step.audit_counted);
  result.audit_recorded = shown(step.audit_recorded);
  for (std::size_t t = 0; t < static_cast<std::size_t>(layout_.terms); ++t) {
    const TermLosses& losses = step.losses[t];
    result.tokens[t] = shown(step.sums.terms[t].tokens);
    result.local_tokens[t] = shown(step.local.terms[t].tokens);
    result.loss_tokens[t] = shown(losses.tokens);
    result.nonfinite[t] = shown(losses.nonfinite);
    result.invalid_labels[t] = shown(step.bad_labels[t]);
    result.weight_sum[t] = step.weight_sums[t];
    result.loss_sum[t] = loss_sum(losses);
    result.mean_loss[t] = mean_loss(losses, step.divisors[t]);
    result.factor[t] = tokavg::factor(rule_, step, static_cast<std::int32_t>(t), TOKAVG_FACTOR_SCALE);
    if (losses.unaudited != 0) result.flags |= TOKAVG_RESULT_UNAUDITED;
    if (losses.nonfinite != 0) result.flags |= TOKAVG_RESULT_NONFINITE;
    if (step.bad_labels[t] != 0) result.flags |= TOKAVG_RESULT_INVALID_LABEL;
  }
  if (step.audit_ticket != 0) result.flags |= TOKAVG_RESULT_AUDIT_FAILED;
  if (step.complete && !step.failure && step.losses_complete(layout_.terms)) result.flags |= TOKAVG_RESULT_LOSS_READY;
}

}  // namespace tokavg
