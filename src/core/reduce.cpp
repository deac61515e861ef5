// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <new>

#include "core/context.hpp"

namespace tokavg {
namespace {

std::string step_name(const Step& step, const ReduceRequest& request) {
  const auto ticket = static_cast<long long>(step.ticket);
  if (!request.has_step_id) return format("step %lld", ticket);
  return format("step %lld (step_id %lld)", ticket, static_cast<long long>(step.step_id));
}

// The others wait for a message: where there is no memory for it the context ends, and they are told.
template <typename Body>
void must_send(Body&& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    fail(TOKAVG_ERR_TRANSPORT, "no memory for a message to the other ranks");
  }
}

}  // namespace

std::uint64_t Context::roll(MessageKind kind, const ReduceRequest& options) const noexcept {
  std::uint64_t h = mix(agreed_.config_hash, static_cast<std::uint64_t>(kind));
  h = mix(h, sequence_ + 1);
  h = mix(h, static_cast<std::uint64_t>(newest_));
  h = mix(h, layout_.words());
  h = mix(h, options.has_step_id ? 1 : 0);
  h = mix(h, static_cast<std::uint64_t>(options.step_id));
  return mix(h, std::bit_cast<std::uint64_t>(options.accumulation_divisor));
}

// A ticket is not given again while its reduction is unfinished, and messages do not pile up without bound.
void Context::make_room() {
  const auto receive_one = [this](const Message& message) { receive(message); };
  messenger_->poll(receive_one);
  Step* oldest = kept(newest_ + 1 - layout_.in_flight);
  if (oldest != nullptr && !oldest->complete) wait_for(*oldest, oldest->sequence, -1);
  const std::size_t most = 2 * static_cast<std::size_t>(layout_.in_flight);
  while (messenger_->in_flight() >= most) messenger_->wait(messenger_->oldest(), -1, receive_one);
}

tokavg_ticket_t Context::reduce(const ReduceRequest& request, std::optional<Error> wrong) {
  check_usable();
  check_process();
  make_room();
  ReduceRequest options = request;
  if (options.accumulation_divisor == 0) options.accumulation_divisor = settings_.config.accumulation_divisor;
  if (!wrong) wrong = caught([&] { check_factors(options.accumulation_divisor, "options"); });
  if (!wrong && options.done) done_ = true;
  must_send([&] { close_step(options, wrong); });
  return newest_;
}

// From here on the step is closed, whatever happens.
void Context::close_step(const ReduceRequest& options, const std::optional<Error>& wrong) {
  Step step;
  step.ticket = newest_ + 1;
  step.step_id = options.step_id;
  step.accumulation_divisor = options.accumulation_divisor;
  step.local = open_.counts();
  step.local_losses = open_.losses();
  step.unsent = open_.losses();
  step.reduced_at = Clock::now();
  const std::string name = step_name(step, options);
  std::optional<Error> failure = open_failure_ ? open_failure_ : closed_failure_;
  if (!failure) failure = wrong;
  steps_.push_back(std::move(step));
  ++newest_;
  open_ = OpenStep{};
  open_failure_.reset();
  closed_failure_.reset();
  // A rank whose options were wrong does not know what the others agree on.
  const auto agreed = wrong ? std::nullopt : std::optional(roll(MessageKind::kReduce, options));
  post(MessageKind::kReduce, name, agreed, failure);
}

void Context::flush() {
  check_usable();
  check_process();
  make_room();
  must_send([&] {
    // A flush has no ticket that all ranks look at: the failure also goes with the next reduce.
    post(MessageKind::kFlush, format("the flush after step %lld", static_cast<long long>(newest_)),
         roll(MessageKind::kFlush, {}), closed_failure_);
  });
}

void Context::send_finalize() {
  must_send([&] {
    const std::optional<Error> failure = open_failure_ ? open_failure_ : closed_failure_;
    open_failure_.reset();
    closed_failure_.reset();
    post(MessageKind::kFinalize, "tokavg_finalize", roll(MessageKind::kFinalize, {}), failure);
  });
}

void Context::post(MessageKind kind, const std::string& name, std::optional<std::uint64_t> roll,
                   const std::optional<Error>& failure) {
  ++sequence_;
  Message message;
  message.name = name;
  message.kind = kind;
  message.sequence = sequence_;
  message.newest = newest_;
  message.own_failure = failure;
  message.roll = roll;

  Contribution part;
  part.roll = roll.value_or(0);
  part.failed = failure.has_value();
  part.rank = transport_->rank();
  part.holds_labels = settings_.config.asks_only == 0;
  part.copies = settings_.config.label_copies;
  part.copy_index = settings_.config.label_copy_index;
  part.done = done_;
  if (kind == MessageKind::kReduce) {
    steps_.back().sequence = sequence_;
    part.counts = &steps_.back().local;
  }
  for (std::size_t slot = 0; slot < layout_.slots(); ++slot) {
    const Step* step = kept(newest_ - static_cast<tokavg_ticket_t>(slot));
    part.losses.push_back(step != nullptr ? &step->unsent : nullptr);
  }
  message.words = encode(layout_, part);
  for (Step& step : steps_) step.unsent = {};
  messenger_->post(std::move(message));
}

void Context::progress() {
  check_usable();
  check_process();
  messenger_->poll([this](const Message& message) { receive(message); });
}

}  // namespace tokavg
