// SPDX-License-Identifier: Apache-2.0
#include "core/messenger.hpp"

#include <algorithm>

#include "transport/rank_list.hpp"

namespace tokavg {

Messenger::Messenger(Transport& transport, Patience patience, const std::atomic<bool>& aborted, Warn warn)
    : transport_(transport), patience_(patience), aborted_(aborted), warn_(std::move(warn)) {}

void Messenger::post(Message message) {
  message.started = Clock::now();
  in_flight_.push_back(std::move(message));
  try {
    in_flight_.back().reduction = transport_.start(in_flight_.back().words);
  } catch (const Error& error) {
    const std::string name = in_flight_.back().name;
    in_flight_.pop_back();
    fail(sticky(error.status()), "%s: %s", name.c_str(), error.text().c_str());
  }
}

void Messenger::poll(const Receive& receive) {
  if (aborted_.load(std::memory_order_relaxed)) fail(TOKAVG_ERR_ABORTED, "tokavg_abort was called on this rank");
  while (!in_flight_.empty()) {
    Message& front = in_flight_.front();
    try {
      if (!front.reduction->test()) return;
    } catch (const Error& error) {
      // Another rank's deadline has passed: this rank names the same ranks.
      if (error.status() == TOKAVG_ERR_TIMEOUT) time_out(front, front.reduction->late_ranks());
      fail(sticky(error.status()), "%s: %s", front.name.c_str(), error.text().c_str());
    }
    const Message arrived = std::move(front);
    in_flight_.pop_front();
    try {
      receive(arrived);
    } catch (const std::bad_alloc&) {
      fail(TOKAVG_ERR_TRANSPORT, "%s: no memory to read what the ranks sent", arrived.name.c_str());
    }
  }
}

bool Messenger::wait(std::uint64_t sequence, std::int64_t limit_ms, const Receive& receive) {
  poll(receive);
  if (arrived(sequence)) return true;
  const Clock::time_point begin = Clock::now();
  ask(sequence, begin);
  watch(begin);
  Backoff backoff;
  for (;;) {
    if (limit_ms >= 0 && Clock::now() - begin >= std::chrono::milliseconds(limit_ms)) return false;
    backoff.pause();
    poll(receive);
    if (arrived(sequence)) return true;
    watch(Clock::now());
  }
}

void Messenger::ask(std::uint64_t sequence, Clock::time_point now) {
  for (Message& message : in_flight_) {
    if (message.sequence <= sequence && !message.asked) message.asked = now;
  }
}

void Messenger::watch(Clock::time_point now) {
  for (Message& message : in_flight_) {
    if (!message.asked) continue;
    const auto waited = now - *message.asked;
    if (waited >= std::chrono::milliseconds(patience_.timeout_ms)) {
      const std::vector<std::int32_t> late = message.reduction->late_ranks();
      // The last rank may come while the list is made: then nobody is late.
      if (late.empty() && message.reduction->test()) continue;
      time_out(message, late);
    }
    if (!message.warned && waited >= std::chrono::milliseconds(patience_.warn_ms)) {
      message.warned = true;
      warn_(format("%s: %s since %.1f s", message.name.c_str(), message.reduction->describe().c_str(),
                   seconds_between(*message.asked, now)));
    }
  }
}

void Messenger::time_out(const Message& message, const std::vector<std::int32_t>& late) const {
  // Without a thread a rank that arrived but makes no calls holds the others up just as well.
  const char* what = transport_.progresses() ? " did not arrive" : " did not arrive, or made no tokavg calls since";
  const std::string who = late.empty() ? "which ranks are missing is not known" : name_ranks(late) + what;
  fail(TOKAVG_ERR_TIMEOUT,
       "%s did not complete within %g s: %s (here: %s); look at those ranks first, or raise timeout_ms",
       message.name.c_str(), static_cast<double>(patience_.timeout_ms) / 1000, who.c_str(),
       message.reduction->describe().c_str());
}

}  // namespace tokavg
