// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/context.hpp"

namespace tokavg {
namespace {

// S of one call, as it goes back to the caller.
double sum_of(const Recorded& recorded) {
  TermLosses losses;
  losses.nonfinite = static_cast<std::uint64_t>(recorded.nonfinite);
  losses.sum = recorded.sum;
  return loss_sum(losses);
}

TermLosses to_losses(const Recorded& recorded) {
  TermLosses losses;
  losses.tokens = static_cast<std::uint64_t>(recorded.tokens);
  losses.nonfinite = static_cast<std::uint64_t>(recorded.nonfinite);
  losses.sum = recorded.sum;
  return losses;
}

}  // namespace

// Where a loss call records to, and what it multiplies with.
struct Context::Recording {
  Step* step = nullptr;  // nullptr: the open step
  double factor = 1;
  bool applies_factor = false;
};

void Context::check_not_scaled_after(const Step& step) {
  if (!step.scaled_after_backward) return;
  fail(TOKAVG_ERR_STATE,
       "the gradients of ticket %lld were scaled by tokavg_scale already; its losses must not be scaled "
       "as well: record them on TOKAVG_OPEN, or drop the tokavg_scale",
       static_cast<long long>(step.ticket));
}

void Context::check_not_scaled_before(const Step& step, std::int32_t kind) {
  if (kind != TOKAVG_FACTOR_SCALE || !step.scaled_before_backward) return;
  fail(TOKAVG_ERR_STATE,
       "the losses of ticket %lld were scaled before backward; scaling its gradients too would apply the "
       "factor twice: drop the tokavg_scale, or record the losses on TOKAVG_OPEN",
       static_cast<long long>(step.ticket));
}

Context::Recording Context::begin_recording(tokavg_ticket_t ticket, std::int32_t term, const LossOutputs& out,
                                            bool gradient) {
  if (settings_.config.asks_only != 0) check_counting();
  Recording recording;
  if (ticket == TOKAVG_OPEN) {
    check_counting();
    return recording;
  }
  recording.step = &find(ticket);
  check_no_replays(*recording.step);
  recording.applies_factor = gradient || out.backward != nullptr;
  if (recording.step->complete && recording.step->failure) throw TicketError(*recording.step->failure);
  if (!recording.applies_factor) return recording;
  check_not_scaled_after(*recording.step);
  recording.factor = tokavg::factor(rule_, completed(ticket), term, TOKAVG_FACTOR_SCALE);
  return recording;
}

void Context::check_room(const Recording& recording, std::int32_t term, std::uint64_t tokens) const {
  const auto t = static_cast<std::size_t>(term);
  const TermLosses& so_far = recording.step != nullptr ? recording.step->local_losses[t] : open_.losses()[t];
  if (tokens > static_cast<std::uint64_t>(INT64_MAX) - so_far.tokens) {
    fail(TOKAVG_ERR_OVERFLOW, "term %d has %llu tokens in the losses of this step and %llu more reach 2^63", term,
         static_cast<unsigned long long>(so_far.tokens), static_cast<unsigned long long>(tokens));
  }
}

void Context::record(const Recording& recording, std::int32_t term, const TermLosses& losses) {
  const auto t = static_cast<std::size_t>(term);
  check_room(recording, term, losses.tokens);
  if (recording.step == nullptr) {
    open_.record(term, losses);
    return;
  }
  recording.step->unsent[t].add(losses);
  recording.step->local_losses[t].add(losses);
  if (recording.applies_factor) recording.step->scaled_before_backward = true;
}

Recorded Context::single_value(const LossRequest& request, const Recording& recording, TermLosses& losses) {
  const auto t = static_cast<std::size_t>(request.term);
  Recorded recorded;
  std::uint64_t tokens = static_cast<std::uint64_t>(request.tokens);
  if (request.tokens == -1) {
    const StepCounts& counts = recording.step != nullptr ? recording.step->local : open_.counts();
    const auto& so_far = recording.step != nullptr ? recording.step->local_losses : open_.losses();
    const std::uint64_t counted = counts.terms[t].tokens;
    tokens = counted > so_far[t].tokens ? counted - so_far[t].tokens : 0;
    losses.unaudited = 1;
  }
  recorded.tokens = static_cast<std::int64_t>(tokens);
  if (tokens != 0) {
    const double value = device_->read(request.losses);
    const double x = request.kind == TOKAVG_LOSS_MEAN ? value * static_cast<double>(tokens) : value;
    if (std::fabs(x) <= kSumLimit) {
      recorded.sum.add(x);
    } else {
      recorded.nonfinite = 1;
    }
  }
  losses.tokens = tokens;
  losses.nonfinite = static_cast<std::uint64_t>(recorded.nonfinite);
  losses.sum = recorded.sum;
  return recorded;
}

void Context::loss(tokavg_ticket_t ticket, const LossRequest& request) {
  check_usable();
  if (request.losses.on_device) return stream_loss(ticket, request);
  const Recording recording = begin_recording(ticket, request.term, request.out, false);
  Recorded recorded;
  TermLosses losses;
  if (request.kind == TOKAVG_LOSS_TOKEN_LOSSES) {
    TokenLosses view{request.rows, request.cols, request.losses, request.has_labels ? &request.labels : nullptr};
    recorded = device_->token_losses(view);
    losses = to_losses(recorded);
  } else {
    recorded = single_value(request, recording, losses);
  }
  record(recording, request.term, losses);
  give_back(request.out, recorded, recording.factor);
}

void Context::give_back(const LossOutputs& out, const Recorded& recorded, double factor) {
  const double sum = sum_of(recorded);
  if (out.sum != nullptr) device_->write(out.sum, TOKAVG_DTYPE_F64, sum);
  if (out.backward == nullptr) return;
  // Where nothing is divided (factor 0) there is nothing to go back, not even a NaN.
  const double backward = factor == 0 ? 0.0 : sum * factor * out.loss_scale;
  device_->write(out.backward, out.backward_dtype, backward);
}

void Context::cross_entropy(tokavg_ticket_t ticket, CrossEntropyRequest request) {
  check_usable();
  if (request.ce.logits.on_device) return stream_cross_entropy(ticket, request);
  const Recording recording =
      begin_recording(ticket, request.term, request.out, static_cast<bool>(request.ce.gradient));
  // Before anything is written, and so for all labels: how many are scored is known only afterwards.
  check_room(recording, request.term, static_cast<std::uint64_t>(request.ce.labels.rows * request.ce.labels.cols));
  request.ce.factor = recording.factor * request.out.loss_scale;
  const Recorded recorded = device_->cross_entropy(request.ce);
  record(recording, request.term, to_losses(recorded));
  give_back(request.out, recorded, recording.factor);
}

void Context::scale(tokavg_ticket_t ticket, const ScaleRequest& request) {
  check_usable();
  if (request.on_device) return stream_scale(ticket, request);
  Step& step = completed(ticket);
  check_not_scaled_before(step, request.kind);
  const double factor = tokavg::factor(rule_, step, request.term, request.kind) * request.factor;
  for (const ScaleItem& item : request.items) device_->scale(item.array, item.count, factor);
  if (request.kind == TOKAVG_FACTOR_SCALE) step.scaled_after_backward = true;
}

}  // namespace tokavg
