// SPDX-License-Identifier: Apache-2.0
#include "core/bridge.hpp"

#include <algorithm>

namespace tokavg {

Bridge::Bridge(StreamDevice& device, Transport& transport, Patience patience, const std::atomic<bool>& aborted)
    : StreamService(device, aborted),
      patience_(patience),
      n_words_(device.box(0).words.size()),
      messenger_(transport, patience, aborted, [this](const std::string& text) { warn(text); }),
      taken_(static_cast<std::size_t>(boxes())) {}

bool Bridge::turn() {
  const bool took = take_published();
  const std::size_t before = messenger_.in_flight();
  messenger_.poll([this](const Message& message) { deliver(message); });
  const bool delivered = messenger_.in_flight() < before;
  look_who_waits();
  return took || delivered;
}

bool Bridge::take_published() {
  for (std::int32_t index = 0; index < boxes(); ++index) {
    const MessageBox from = box(index);
    if (observe(from.header->published) != next_) continue;
    Message message;
    message.name = name_of(index);
    message.sequence = next_;
    message.of_stream.emplace().order.box = index;
    message.words.reserve(n_words_);
    for (std::uint64_t& word : from.words) message.words.push_back(peek(word));
    messenger_.post(std::move(message));
    taken_[static_cast<std::size_t>(index)] = next_++;
    next_asked_.reset();
    return true;
  }
  return false;
}

void Bridge::deliver(const Message& message) {
  const MessageBox to = box(message.of_stream->order.box);
  for (std::size_t i = 0; i < n_words_; ++i) poke(to.sums[i], message.words[i]);
  publish(to.header->done, message.sequence);
}

// The deadline's clock runs for what a stream waits for, or the host.
void Bridge::look_who_waits() {
  const Clock::time_point now = Clock::now();
  std::uint64_t asked = observe(control().asked);
  for (std::int32_t index = 0; index < boxes(); ++index) {
    const std::optional<Clock::time_point> since = asked_since(index);
    if (!since) continue;
    const std::uint64_t published = observe(box(index).header->published);
    const bool on_its_way = published != observe(box(index).header->done);
    if (on_its_way) asked = std::max(asked, published);
    if (!on_its_way && now - *since >= std::chrono::milliseconds(patience_.timeout_ms)) {
      fail_not_sent(index, patience_);
    }
  }
  look_for_races(asked, now);
  messenger_.ask(asked, now);
  messenger_.watch(now);
}

// A replay beside an eager step, or beside another replay: both may take one number, and nobody can say whose sums are
// whose; or a number is skipped, and what comes after it is never sent.
void Bridge::look_for_races(std::uint64_t asked, Clock::time_point now) {
  std::vector<std::uint64_t> waiting;
  for (std::int32_t index = 0; index < boxes(); ++index) {
    const std::uint64_t published = observe(box(index).header->published);
    if (published != taken_[static_cast<std::size_t>(index)]) waiting.push_back(published);
  }
  std::sort(waiting.begin(), waiting.end());
  const bool twice = std::adjacent_find(waiting.begin(), waiting.end()) != waiting.end() ||
                     (!waiting.empty() && waiting.front() < next_);
  if (asked < next_) {
    next_asked_.reset();
  } else if (!next_asked_) {
    next_asked_ = now;
  }
  const bool skipped = next_asked_ && now - *next_asked_ >= std::chrono::milliseconds(patience_.timeout_ms);
  if (!twice && !skipped) return;
  fail(TOKAVG_ERR_DESYNC,
       "work of this context ran on its GPU in no order: a replay of a graph beside another one, or beside an eager "
       "step; launch graphs and make calls on one stream, or order them by events");
}

}  // namespace tokavg
