// SPDX-License-Identifier: Apache-2.0
// The other end of reduce.cpp: what all ranks sent has arrived.
#include <algorithm>

#include "core/context.hpp"

namespace tokavg {
namespace {

Error peer_failure(const Message& message, const Summed& summed) {
  if (message.own_failure) return *message.own_failure;
  const std::string who =
      summed.failures.first >= 0 ? format("rank %d", summed.failures.first) : format("%d ranks", summed.failures.count);
  return {TOKAVG_ERR_PEER, format("%s failed on %s, whose own text says why; skip the optimiser step on all ranks",
                                  message.name.c_str(), who.c_str())};
}

// What ends a step, the most telling cause first.
std::optional<Error> step_failure(const Message& message, const Summed& summed) {
  const char* name = message.name.c_str();
  if (summed.failures.count > 0) return peer_failure(message, summed);
  if (summed.too_many_tokens) return Error(TOKAVG_ERR_OVERFLOW, format("%s: the tokens of all ranks reach 2^63", name));
  if (summed.weights_too_large) {
    return Error(TOKAVG_ERR_OVERFLOW, format("%s: the weights of all ranks add up to 2^55 or more", name));
  }
  if (summed.bad_weights > 0) {
    return Error(TOKAVG_ERR_WEIGHT,
                 format("%s: %llu scored weights are not finite, too large, or negative where weights "
                        "divide",
                        name, static_cast<unsigned long long>(summed.bad_weights)));
  }
  if (!summed.copies_agree) {
    return Error(
        TOKAVG_ERR_COPIES,
        format("%s: ranks that hold copies of the same labels counted different tokens, weights or microbatches; "
               "give all copies the same data, or check label_copies and label_copy_index",
               name));
  }
  return std::nullopt;
}

}  // namespace

void Context::receive(const Message& message) {
  const Summed summed = decode(layout_, message.words);
  if (message.of_stream && message.kind == MessageKind::kReduce && kept(message.newest) == nullptr) return;  // released
  if (const auto who = summed.deviation(message.roll, transport_->ranks())) {
    const Error desync(
        TOKAVG_ERR_DESYNC,
        format("%s: the ranks are not in the same step (%s): one called tokavg_reduce, tokavg_flush or "
               "tokavg_finalize once too often, too seldom or in another order, or with another step_id or "
               "accumulation_divisor",
               message.name.c_str(), who->c_str()));
    if (Step* step = message.kind == MessageKind::kReduce ? kept(message.newest) : nullptr) step->failure = desync;
    throw desync;
  }
  Step* newest = kept(message.newest);
  if (message.of_stream && message.kind == MessageKind::kReduce) begin_replay(*newest, *message.of_stream);
  if (message.kind == MessageKind::kReduce) {
    settle(*newest, message, summed);
  } else if (const std::optional<Error> failure = step_failure(message, summed)) {
    if (newest != nullptr && !newest->loss_failure) {
      newest->loss_failure = *failure;
      if (summed.failures.count > 0) {
        newest->failed_ranks = summed.failures.count;
        newest->first_failed_rank = summed.failures.first;
      }
    }
    if (message.kind == MessageKind::kFinalize) finalize_failure_ = failure;
  }
  if (message.kind != MessageKind::kReduce && newest != nullptr) {
    for (std::size_t t = 0; t < newest->bad_labels.size(); ++t) newest->bad_labels[t] += summed.bad_labels[t];
  }
  collect_losses(message, summed);
  audit(message);
  if (logs(TOKAVG_LOG_DEBUG)) {
    log(TOKAVG_LOG_DEBUG, format("%s: %llu tokens in %llu microbatches", message.name.c_str(),
                                 static_cast<unsigned long long>(summed.counts.terms[0].tokens),
                                 static_cast<unsigned long long>(summed.counts.microbatches)));
  }
  retire(message);
}

void Context::settle(Step& step, const Message& message, const Summed& summed) {
  step.complete = true;
  step.reduce_seconds = std::chrono::duration<double>(Clock::now() - step.reduced_at).count();
  step.failure = step_failure(message, summed);
  step.sums = summed.counts;
  step.bad_labels = summed.bad_labels;
  step.empty_ranks = summed.empty_ranks;
  step.done_ranks = summed.done_ranks;
  step.failed_ranks = summed.failures.count;
  step.first_failed_rank = summed.failures.first;
  for (std::size_t t = 0; t < static_cast<std::size_t>(layout_.terms); ++t) {
    step.weight_sums[t] = step.sums.terms[t].weight_sum();
    step.divisors[t] = rule_.divisor(step.sums.terms[t], step.weight_sums[t]);
  }
}

void Context::collect_losses(const Message& message, const Summed& summed) {
  for (std::size_t slot = 0; slot < layout_.slots(); ++slot) {
    Step* step = step_in_slot(message, slot);
    if (step == nullptr) continue;
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout_.terms); ++t) {
      step->losses[t].add(summed.losses[slot][t]);
    }
  }
}

// Are the tokens in the losses the tokens that were counted? Too many is wrong at once; too few when no more can come:
// when the ticket retires, or after a flush or finalize, which say that all losses are recorded.
void Context::audit(const Message& message) {
  Step* newest = kept(message.newest);
  const tokavg_ticket_t oldest = message.newest - layout_.in_flight;
  for (Step& step : steps_) {
    if (step.ticket > message.newest || step.audited || step.failure || !step.complete) continue;
    // A captured step stays beyond its time: only a flush says that its last losses are in.
    const bool due = message.kind != MessageKind::kReduce || (step.ticket <= oldest && !step.captured);
    bool recorded_any = false;
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout_.terms); ++t) {
      const std::uint64_t counted = step.sums.terms[t].tokens;
      const std::uint64_t recorded = step.losses[t].tokens;
      recorded_any = recorded_any || recorded != 0;
      const bool wrong = recorded > counted || (due && recorded != 0 && recorded != counted);
      if (!wrong || step.audited) continue;
      step.audited = true;
      for (Step* told : {&step, newest}) {
        if (told == nullptr || told->audit_ticket != 0) continue;  // the oldest is told
        told->audit_ticket = step.ticket;
        told->audit_counted = counted;
        told->audit_recorded = recorded;
      }
      log(TOKAVG_LOG_WARNING,
          format("step %lld: %llu tokens were counted, but %llu are in its losses", static_cast<long long>(step.ticket),
                 static_cast<unsigned long long>(counted), static_cast<unsigned long long>(recorded)));
    }
    const bool leaves = (step.ticket <= oldest && !step.captured) || message.kind == MessageKind::kFinalize;
    if (leaves && !recorded_any && !step.sums.empty()) ++unaudited_steps_;
  }
}

void Context::retire(const Message& message) {
  if (message.kind != MessageKind::kReduce) return;
  const tokavg_ticket_t oldest = message.newest - layout_.in_flight;
  std::erase_if(steps_, [&](const Step& step) { return step.ticket <= oldest && (!step.captured || step.released); });
}

bool Context::wait_for(Step& step, std::uint64_t sequence, std::int64_t limit_ms) {
  check_process();
  const auto receive_one = [this](const Message& message) { receive(message); };
  const Clock::time_point begin = Clock::now();
  const auto account = [&] { step.exposed_seconds += std::chrono::duration<double>(Clock::now() - begin).count(); };
  try {
    const bool arrived = courier_->wait(sequence, limit_ms, receive_one);
    account();
    return arrived;
  } catch (...) {
    account();
    throw;
  }
}

}  // namespace tokavg
