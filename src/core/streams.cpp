// SPDX-License-Identifier: Apache-2.0
// A context whose labels and losses live on a device: the run-time arrow again, but nothing here waits.
#include <algorithm>

#include "core/bridge.hpp"
#include "core/context.hpp"
#include "core/stream_messenger.hpp"
#include "core/watchdog.hpp"

namespace tokavg {

bool Context::is_device_memory(const void* pointer) const { return streams_ && streams_->owns(pointer); }
void Context::check_device_reaches(const void* pointer) const { streams_->check_reach(pointer); }

// Everything that can fail on one rank alone.
void Context::start_service() {
  const Patience patience{settings_.config.timeout_ms, settings_.config.warn_ms};
  if (StreamSums* sums = transport_->stream_sums(); sums != nullptr) {
    service_ = std::make_unique<Watchdog>(*streams_, *sums, patience, aborted_);
  } else {
    service_ = std::make_unique<Bridge>(*streams_, *transport_, patience, aborted_);
  }
  captured_places_.assign(static_cast<std::size_t>(streams_->captured_steps()), false);
  service_->start();
}

// When the ranks have agreed.
void Context::open_streams() {
  const tokavg_config_t& c = settings_.config;
  const Patience patience{c.timeout_ms, c.warn_ms};
  streams_->agree({rule_, agreed_.config_hash, transport_->rank(), transport_->ranks(), c.asks_only == 0,
                   c.label_copies, c.label_copy_index, c.timeout_ms});
  if (StreamSums* sums = transport_->stream_sums(); sums != nullptr) {
    streams_->sum_with([](void* user, std::uint64_t* words, std::size_t n_words,
                          Stream stream) { static_cast<StreamSums*>(user)->enqueue(words, n_words, stream); },
                       sums, sums->stream());
  }
  courier_ = std::make_unique<StreamMessenger>(*streams_, *service_, patience,
                                               [this](const std::string& text) { log(TOKAVG_LOG_WARNING, text); });
  service_->begin();
}

bool Context::replay_unfinished() const noexcept {
  if (!streams_ || !service_) return false;
  const std::int32_t first = streams_->eager_boxes();
  for (std::int32_t i = 0; i < streams_->captured_steps(); ++i) {
    if (!service_->at_rest(first + i)) return true;
  }
  return false;
}

// A graph cannot wait for what is from before the capture. Here the host does, in a way that a capture allows.
void Context::check_before_capture() {
  const auto receive_one = [this](const Message& message) { receive(message); };
  courier_->poll(receive_one);
  while (courier_->in_flight() != 0) courier_->wait(courier_->oldest(), -1, receive_one);
  const bool unsent_on_host = std::any_of(steps_.begin(), steps_.end(), [](const Step& step) {
    return std::any_of(step.unsent.begin(), step.unsent.end(), [](const TermLosses& losses) { return losses.any(); });
  });
  if (unsent_on_device_ || unsent_on_host) {
    fail(TOKAVG_ERR_STATE,
         "the stream is being captured, but losses of earlier tickets have not been sent; call tokavg_flush, and "
         "tokavg_wait with TOKAVG_WAIT_LOSS, before the capture begins");
  }
  if (closed_failure_) {
    fail(TOKAVG_ERR_STATE,
         "the stream is being captured, but a failure of this rank has not been told, and every replay would tell it "
         "(%s); close a step, or call tokavg_flush, before the capture begins",
         closed_failure_->text().c_str());
  }
  if (!free_captured_place()) {
    fail(
        TOKAVG_ERR_STATE,
        "%zu captured steps are kept, or their replays have not ended; tokavg_release those whose graphs are no longer "
        "launched",
        captured_places_.size());
  }
}

// Where the device keeps the step, and its message.
void Context::place(Step& step, bool captured) {
  step.captured = captured;
  if (!captured) {
    // The step keeps its box as long as its slot: factors are read from it with every use.
    step.slot = static_cast<std::int32_t>(eager_steps_++ % streams_->eager_slots());
    step.box = step.slot;
    return;
  }
  const std::int32_t place = free_captured_place().value();
  captured_places_[static_cast<std::size_t>(place)] = true;
  newest_captured_ = step.ticket;
  step.slot = streams_->eager_slots() + place;
  step.box = streams_->eager_boxes() + place;
}

// A place that was released may still be written to by the last replays.
std::optional<std::int32_t> Context::free_captured_place() const {
  for (std::int32_t i = 0; i < streams_->captured_steps(); ++i) {
    const bool taken = captured_places_[static_cast<std::size_t>(i)];
    if (!taken && service_->at_rest(streams_->eager_boxes() + i)) return i;
  }
  return std::nullopt;
}

StreamPart Context::stream_part(MessageKind kind, const Roll& roll, bool roll_known, Stream stream) {
  StreamPart part;
  part.order.roll = roll;
  part.order.roll_known = roll_known;
  part.stream = stream;
  unsent_on_device_ = false;
  if (kind == MessageKind::kReduce) {
    part.order.slot = steps_.back().slot;
    part.order.box = steps_.back().box;
    part.captured = steps_.back().captured;
  }
  if (kind != MessageKind::kReduce) {
    const std::int32_t slots = streams_->eager_slots();
    part.order.box = slots + static_cast<std::int32_t>(eager_flushes_++ % (streams_->eager_boxes() - slots));
  }
  return part;
}

// What the step held of an earlier replay is history.
void Context::begin_replay(Step& step, const StreamPart& part) noexcept {
  step.reduce_number = part.reduce_number;
  newest_reduce_ = std::max(newest_reduce_, part.reduce_number);
  for (std::size_t t = 0; t < part.local_tokens.size(); ++t) step.local.terms[t].tokens = part.local_tokens[t];
  if (!step.captured) return;
  step.losses = {};
  step.failure.reset();
  step.loss_failure.reset();
  step.audited = false;
  step.audit_ticket = 0;
}

// Whose losses the slot of a message holds. On a device replays count as steps, so tickets do not tell.
Step* Context::step_in_slot(const Message& message, std::size_t slot) noexcept {
  if (!message.of_stream) return kept(message.newest - static_cast<tokavg_ticket_t>(slot));
  const std::uint64_t number = message.of_stream->reduce_number - slot;
  const auto found = std::find_if(steps_.rbegin(), steps_.rend(),
                                  [=](const Step& step) { return step.complete && step.reduce_number == number; });
  return found != steps_.rend() ? &*found : nullptr;
}

// A graph would use the numbers of one step again with every replay.
Step& Context::find_on_stream(tokavg_ticket_t ticket, Stream stream) {
  check_process();
  const bool capturing = streams_->capturing(stream);
  if (!capturing) courier_->poll([this](const Message& message) { receive(message); });
  Step& step = find(ticket);
  if (capturing && !step.captured) {
    fail(TOKAVG_ERR_STATE,
         "ticket %lld was closed before the capture of this stream began; in a capture use tickets that were closed in "
         "it",
         static_cast<long long>(ticket));
  }
  if (step.complete && step.failure && !step.captured) throw TicketError(*step.failure);
  return step;
}

std::int32_t Context::stream_slot(tokavg_ticket_t ticket, bool applies_factor, Stream stream) {
  if (settings_.config.asks_only != 0) check_counting();
  if (ticket == TOKAVG_OPEN) {
    check_process();
    check_counting();
    return kOpenSlot;
  }
  const Step& step = find_on_stream(ticket, stream);
  check_carried(step, stream);
  if (applies_factor) check_not_scaled_after(step);
  return step.slot;
}

bool Context::any_captured() const noexcept {
  return std::find(captured_places_.begin(), captured_places_.end(), true) != captured_places_.end();
}

// The host's losses go by tickets, and the GPU's by steps, which replays are as well: from a captured step on the two
// may mean different ones. Tickets closed after its release are in step again.
void Context::check_no_replays(const Step& step) const {
  if (!any_captured() && step.ticket > newest_captured_) return;
  fail(TOKAVG_ERR_STATE,
       "losses in host memory cannot be recorded on ticket %lld, for a step was captured since, or is kept; copy them "
       "to the GPU, or record them on TOKAVG_OPEN",
       static_cast<long long>(step.ticket));
}

// Losses go with a message of the next in_flight steps, and replays are steps that tickets do not count.
void Context::check_carried(const Step& step, Stream stream) {
  // Of a captured step a later replay may be under way, which takes them along.
  const bool too_late = step.complete && !step.captured &&
                        newest_reduce_ - step.reduce_number >= static_cast<std::uint64_t>(layout_.in_flight);
  if (!too_late || streams_->capturing(stream)) return;
  throw TicketError(TOKAVG_ERR_STALE,
                    format("%llu steps were closed after ticket %lld, replays of graphs included, and config.in_flight "
                           "is %d: no message will carry its losses; record them sooner, or raise in_flight",
                           static_cast<unsigned long long>(newest_reduce_ - step.reduce_number),
                           static_cast<long long>(step.ticket), layout_.in_flight));
}

void Context::record_on_stream(tokavg_ticket_t ticket, bool applies_factor, bool records) {
  if (ticket == TOKAVG_OPEN) return;
  Step& step = find(ticket);
  if (applies_factor) step.scaled_before_backward = true;
  // Losses of a captured step go with its next replay, or the next message after the last.
  if (records && !step.captured) unsent_on_device_ = true;
}

void Context::stream_loss(tokavg_ticket_t ticket, const LossRequest& request) {
  const bool applies_factor = request.out.backward != nullptr;
  const std::int32_t slot = stream_slot(ticket, applies_factor, request.stream);
  const auto t = static_cast<std::size_t>(request.term);
  if (request.kind == TOKAVG_LOSS_TOKEN_LOSSES) {
    const TokenLosses view{request.rows, request.cols, request.losses, request.has_labels ? &request.labels : nullptr};
    streams_->token_losses(view, request.term, slot, request.out, request.stream);
  } else {
    StreamValue value;
    value.value = request.losses;
    value.is_mean = request.kind == TOKAVG_LOSS_MEAN;
    value.tokens = request.tokens;
    if (slot == kOpenSlot) {
      value.host_counted = open_.counts().terms[t].tokens;
      value.host_recorded = open_.losses()[t].tokens;
    } else {
      const Step& step = find(ticket);
      value.host_recorded = step.local_losses[t].tokens - step.open_losses[t];
    }
    streams_->value(value, request.term, slot, request.out, request.stream);
  }
  record_on_stream(ticket, applies_factor && ticket != TOKAVG_OPEN, true);
}

void Context::stream_cross_entropy(tokavg_ticket_t ticket, const CrossEntropyRequest& request) {
  const bool applies_factor = request.ce.gradient || request.out.backward != nullptr;
  const std::int32_t slot = stream_slot(ticket, applies_factor, request.stream);
  streams_->cross_entropy(request.ce, request.term, slot, request.out, request.stream);
  record_on_stream(ticket, applies_factor && ticket != TOKAVG_OPEN, true);
}

void Context::stream_scale(tokavg_ticket_t ticket, const ScaleRequest& request) {
  Step& step = find_on_stream(ticket, request.stream);
  check_not_scaled_before(step, request.kind);
  streams_->scale(request.items, request.term, step.slot, request.kind, request.factor, request.factor_device,
                  request.stream);
  if (request.kind == TOKAVG_FACTOR_SCALE) step.scaled_after_backward = true;
}

const float* Context::factor_device(tokavg_ticket_t ticket, std::int32_t term, std::int32_t kind, Stream stream) {
  check_usable();
  if (!streams_) {
    find(ticket);
    if (find_device(TOKAVG_DEVICE_CUDA) == nullptr) {
      fail(TOKAVG_ERR_NOT_BUILT,
           "this libtokavg was built without CUDA; build it with -DTOKAVG_CUDA=ON, or use tokavg_factor");
    }
    fail(TOKAVG_ERR_STATE,
         "this context works on the host; use tokavg_factor, or set config.device to TOKAVG_DEVICE_CUDA");
  }
  return streams_->factor(term, find_on_stream(ticket, stream).slot, kind, stream);
}

void Context::release(tokavg_ticket_t ticket) {
  check_usable();
  if (streams_) courier_->poll([this](const Message& message) { receive(message); });  // its last replay, too
  Step& step = find(ticket);
  step.released = true;
  if (!step.captured) return;
  captured_places_[static_cast<std::size_t>(step.slot - streams_->eager_slots())] = false;
  static_cast<StreamMessenger&>(*courier_).forget_captured(step.sequence);
}

}  // namespace tokavg
