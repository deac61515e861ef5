// SPDX-License-Identifier: Apache-2.0
#include "core/stream_messenger.hpp"

#include <algorithm>

namespace tokavg {
namespace {

constexpr std::chrono::milliseconds kLookEvery(50);  // a GPU that has died wakes nobody up

}  // namespace

StreamMessenger::StreamMessenger(StreamDevice& device, StreamService& service, Patience patience, Warn warn)
    : device_(device), service_(service), patience_(patience), warn_(std::move(warn)) {}

void StreamMessenger::post(Message message) {
  const StreamPart part = *message.of_stream;
  const MessageBox box = device_.box(part.order.box);
  for (std::size_t i = 0; i < message.words.size(); ++i) poke(box.host_part[i], message.words[i]);
  service_.expect(part.order.box, message.name, part.captured);
  const std::uint64_t seen = observe(box.header->done);
  if (const std::optional<Error> failure = caught([&] { device_.send(part.order, part.stream); })) {
    service_.forget(part.order.box);
    fail(sticky(failure->status()), "%s: %s", message.name.c_str(), failure->text().c_str());
  }
  if (part.captured) {
    captured_.push_back({std::move(message), seen, false});
  } else {
    in_flight_.push_back({std::move(message), seen, false});
  }
}

// False when there is nothing new in the box, or what is there is younger than `newest`. A replay may begin while it is
// read: then what was read is worthless, and more comes.
bool StreamMessenger::read(Pending& pending, std::uint64_t newest) {
  StreamPart& part = *pending.message.of_stream;
  const MessageBox box = device_.box(part.order.box);
  const std::uint64_t done = observe(box.header->done);
  if (done == pending.seen || done > newest) return false;
  // Each is observed, so that none is read after the look at `begun` that follows.
  for (std::size_t i = 0; i < box.sums.size(); ++i) pending.message.words[i] = observe(box.sums[i]);
  const std::uint64_t roll = observe(box.header->roll);
  part.number = done;
  part.reduce_number = observe(box.header->reduce_number);
  for (std::size_t t = 0; t < part.local_tokens.size(); ++t)
    part.local_tokens[t] = observe(box.header->local_tokens[t]);
  if (peek(box.header->begun) != done) return false;
  if (const std::optional<Error> worthless = caught([this] { service_.vouch(); })) {
    service_.check();  // why it is, where that is known
    throw Error(*worthless);
  }
  // Also of a step that failed here: its replays have other numbers than it had.
  if (pending.message.roll) pending.message.roll = roll;
  pending.seen = done;
  pending.received = true;
  return true;
}

// What has arrived, in the order of its making. Boxes are looked at one after the other and messages arrive meanwhile:
// none is taken that is younger than one that this look may have missed.
std::vector<StreamMessenger::Pending*> StreamMessenger::read_in_order() {
  std::vector<Pending*> pending;
  for (Pending& captured : captured_) pending.push_back(&captured);
  for (Pending& eager : in_flight_) pending.push_back(&eager);
  const auto header = [this](const Pending* p) { return device_.box(p->message.of_stream->order.box).header; };
  std::uint64_t newest = 0;
  for (const Pending* p : pending) {
    const std::uint64_t done = observe(header(p)->done);
    if (done != p->seen) newest = std::max(newest, done);
  }
  if (newest == 0) return {};
  for (const Pending& eager : in_flight_) {
    const std::uint64_t begun = observe(header(&eager)->begun);
    const bool on_its_way = begun != eager.seen && observe(header(&eager)->done) == eager.seen;
    if (on_its_way) newest = std::min(newest, begun);
  }
  std::erase_if(pending, [&](Pending* p) { return !read(*p, newest); });
  std::sort(pending.begin(), pending.end(), [](const Pending* a, const Pending* b) {
    return a->message.of_stream->number < b->message.of_stream->number;
  });
  return pending;
}

void StreamMessenger::poll(const Receive& receive) {
  for (const std::string& text : service_.take_warnings()) warn_(text);
  if (const std::optional<Error> failure = caught([this] { service_.check(); })) {
    if (failure->status() == TOKAVG_ERR_TIMEOUT) device_.check_alive();  // the cause, where it is one
    throw Error(*failure);
  }
  try {
    for (Pending* pending : read_in_order()) {
      if (pending->message.of_stream->captured) {
        receive(pending->message);
        continue;
      }
      if (pending != &in_flight_.front()) {
        fail(TOKAVG_ERR_DESYNC, "%s came before an older one: work of this context ran on its GPU in no order",
             pending->message.name.c_str());
      }
      const Message arrived = std::move(pending->message);
      in_flight_.pop_front();
      receive(arrived);
    }
  } catch (const std::bad_alloc&) {
    fail(TOKAVG_ERR_TRANSPORT, "no memory to read what the ranks sent");
  }
}

bool StreamMessenger::arrived(std::uint64_t sequence) const noexcept {
  for (const Pending& pending : captured_) {
    if (pending.message.sequence == sequence) return pending.received;
  }
  return in_flight_.empty() || in_flight_.front().message.sequence > sequence;
}

void StreamMessenger::ask(std::uint64_t sequence) {
  for (const Pending& pending : in_flight_) {
    if (pending.message.sequence <= sequence) service_.ask(pending.message.of_stream->order.box);
  }
}

bool StreamMessenger::wait(std::uint64_t sequence, std::int64_t limit_ms, const Receive& receive) {
  poll(receive);
  if (arrived(sequence)) return true;
  ask(sequence);
  // A captured step that is not launched is nobody's fault, so its wait ends without an error; for others the service
  // watches the deadline.
  const std::int64_t most_ms = limit_ms >= 0 ? limit_ms : patience_.timeout_ms;
  const bool is_captured = !captured_.empty() && (in_flight_.empty() || oldest() > sequence);
  const bool ends = limit_ms >= 0 || is_captured;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(most_ms);
  Backoff backoff;
  Clock::time_point next_look = Clock::now() + kLookEvery;
  while (!ends || Clock::now() < end) {
    backoff.pause();
    poll(receive);
    if (arrived(sequence)) return true;
    if (Clock::now() < next_look) continue;
    device_.check_alive();
    next_look = Clock::now() + kLookEvery;
  }
  return false;
}

void StreamMessenger::forget_captured(std::uint64_t sequence) {
  captured_.remove_if([sequence](const Pending& pending) { return pending.message.sequence == sequence; });
}

}  // namespace tokavg
