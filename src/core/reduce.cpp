// SPDX-License-Identifier: Apache-2.0
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

Roll Context::roll(MessageKind kind, const ReduceRequest& options) const noexcept {
  return Roll{agreed_.config_hash,         kind, sequence_ + 1, newest_, options.has_step_id, options.step_id,
              options.accumulation_divisor};
}

// A ticket is not given again while its reduction is unfinished, and messages do not pile up without bound.
void Context::make_room(bool for_a_ticket) {
  const auto receive_one = [this](const Message& message) { receive(message); };
  courier_->poll(receive_one);
  Step* oldest = for_a_ticket ? kept(newest_ + 1 - layout_.in_flight) : nullptr;
  if (oldest != nullptr && !oldest->complete && !oldest->captured) wait_for(*oldest, oldest->sequence, -1);
  const std::size_t most = 2 * static_cast<std::size_t>(layout_.in_flight);
  while (courier_->in_flight() >= most) courier_->wait(courier_->oldest(), -1, receive_one);
}

tokavg_ticket_t Context::reduce(const ReduceRequest& request, std::optional<Error>& wrong) {
  check_usable();
  check_process();
  ReduceRequest options = request;
  bool captured = false;
  if (streams_) {
    const std::optional<Error> unusable = caught([&] {
      captured = streams_->capturing(request.stream);
      if (!captured) streams_->check_open(request.stream);
    });
    // The other ranks wait for a message: it goes another way.
    if (unusable) options.stream = streams_->own_stream();
    if (!wrong) wrong = unusable;
  }
  if (captured) {
    check_before_capture();
    streams_->check_open(request.stream);
  } else {
    make_room(true);
  }
  if (options.accumulation_divisor == 0) options.accumulation_divisor = settings_.config.accumulation_divisor;
  if (!wrong) wrong = caught([&] { check_factors(options.accumulation_divisor, "options"); });
  if (!wrong && options.done) done_ = true;
  must_send([&] { close_step(options, wrong, captured); });
  return newest_;
}

// From here on the step is closed, whatever happens.
void Context::close_step(const ReduceRequest& options, const std::optional<Error>& wrong, bool captured) {
  Step step;
  step.ticket = newest_ + 1;
  step.step_id = options.step_id;
  step.accumulation_divisor = options.accumulation_divisor;
  step.local = open_.counts();
  step.local_losses = open_.losses();
  step.unsent = open_.losses();
  for (std::size_t t = 0; t < step.open_losses.size(); ++t) step.open_losses[t] = open_.losses()[t].tokens;
  step.reduced_at = Clock::now();
  const std::string name = step_name(step, options);
  std::optional<Error> failure = open_failure_ ? open_failure_ : closed_failure_;
  if (!failure) failure = wrong;
  if (streams_) place(step, captured);
  steps_.push_back(std::move(step));
  ++newest_;
  open_ = OpenStep{};
  open_failure_.reset();
  closed_failure_.reset();
  // A rank whose options were wrong does not know what the others agree on.
  post(MessageKind::kReduce, name, roll(MessageKind::kReduce, options), !wrong, failure, options.stream);
}

void Context::flush(Stream stream) {
  check_usable();
  check_process();
  bool captured = false;
  std::optional<Error> unusable;
  if (streams_) unusable = caught([&] { captured = streams_->capturing(stream); });
  if (captured) {
    fail(TOKAVG_ERR_STATE, "tokavg_flush cannot be captured into a graph; call it when the replays have been launched");
  }
  if (unusable) {
    // As in reduce().
    stream = streams_->own_stream();
    if (!closed_failure_) closed_failure_ = unusable;
  }
  make_room(false);
  must_send([&] {
    // A flush has no ticket that all ranks look at: the failure also goes with the next reduce.
    post(MessageKind::kFlush, format("the flush after step %lld", static_cast<long long>(newest_)),
         roll(MessageKind::kFlush, {}), true, closed_failure_, stream);
  });
  if (unusable) throw Error(*unusable);
}

void Context::send_finalize() {
  must_send([&] {
    const std::optional<Error> failure = open_failure_ ? open_failure_ : closed_failure_;
    open_failure_.reset();
    closed_failure_.reset();
    post(MessageKind::kFinalize, "tokavg_finalize", roll(MessageKind::kFinalize, {}), true, failure,
         streams_ ? streams_->own_stream() : nullptr);
  });
}

void Context::post(MessageKind kind, const std::string& name, const Roll& roll, bool roll_known,
                   const std::optional<Error>& failure, Stream stream) {
  ++sequence_;
  Message message;
  message.name = name;
  message.kind = kind;
  message.sequence = sequence_;
  message.newest = newest_;
  message.own_failure = failure;
  const std::uint64_t hash = roll.hash(layout_);
  if (roll_known) message.roll = hash;

  Contribution part;
  part.roll = roll_known ? hash : 0;
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
  if (streams_) {
    // The device says the roll, and checks the copies when it has added its counts.
    message.of_stream = stream_part(kind, roll, roll_known && !part.failed, stream);
    part.roll = 0;
    part.copies = 1;
    part.copy_index = 0;
  }
  for (std::size_t slot = 0; slot < layout_.slots(); ++slot) {
    const Step* step = kept(newest_ - static_cast<tokavg_ticket_t>(slot));
    part.losses.push_back(step != nullptr ? &step->unsent : nullptr);
  }
  message.words = encode(layout_, part);
  for (Step& step : steps_) step.unsent = {};
  courier_->post(std::move(message));
}

void Context::progress() {
  check_usable();
  check_process();
  courier_->poll([this](const Message& message) { receive(message); });
}

}  // namespace tokavg
