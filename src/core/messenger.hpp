// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/message.hpp"
#include "transport/transport.hpp"

namespace tokavg {

// One message on its way.
struct Message {
  std::string name;  // "step 5", for texts
  MessageKind kind = MessageKind::kReduce;
  std::uint64_t sequence = 0;
  tokavg_ticket_t newest = 0;  // the ticket that its loss slots count back from
  std::vector<std::uint64_t> words;
  std::optional<std::uint64_t> roll;  // unknown to a rank whose options were wrong
  std::optional<Error> own_failure;   // what this rank reports in it

  Clock::time_point started;
  std::optional<Clock::time_point> asked;  // when something first waited for it: the deadline's clock
  bool warned = false;
  std::unique_ptr<Reduction> reduction;  // last: destroyed before the words
};

struct Patience {
  std::int64_t timeout_ms = 300000;
  std::int64_t warn_ms = 60000;
};

// How long a caller is willing to wait in all: 0 asks once, -1 until the deadline.
class WaitLimit {
 public:
  // No deadline is longer than 2^31 - 1 ms, so no wait is either.
  explicit WaitLimit(std::int64_t ms)
      : ms_(std::min<std::int64_t>(ms, INT32_MAX)), end_(Clock::now() + std::chrono::milliseconds(ms_)) {}
  [[nodiscard]] std::int64_t left_ms() const {
    if (ms_ <= 0) return ms_;
    return std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now()).count());
  }

 private:
  std::int64_t ms_;
  Clock::time_point end_;
};

// Sends messages and waits for them, in order. The only place that polls a transport and that watches deadlines.
class Messenger {
 public:
  using Receive = std::function<void(const Message&)>;  // called for each message, in order, when it has arrived
  using Warn = std::function<void(const std::string&)>;

  Messenger(Transport& transport, Patience patience, const std::atomic<bool>& aborted, Warn warn);

  void post(Message message);
  [[nodiscard]] bool idle() const noexcept { return in_flight_.empty(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_.size(); }
  [[nodiscard]] std::uint64_t oldest() const noexcept { return in_flight_.front().sequence; }
  [[nodiscard]] bool arrived(std::uint64_t sequence) const noexcept {
    return in_flight_.empty() || in_flight_.front().sequence > sequence;
  }

  // Receives what has arrived, without waiting.
  void poll(const Receive& receive);
  // Until the message has arrived (true), or limit_ms have passed (false; 0 asks once, -1: until the deadline). Throws
  // Error TIMEOUT with the late ranks when the deadline passes, ABORTED, or what the transport reports.
  bool wait(std::uint64_t sequence, std::int64_t limit_ms, const Receive& receive);

 private:
  void ask(std::uint64_t sequence, Clock::time_point now);
  void watch(Clock::time_point now);
  [[noreturn]] void give_up(const Message& message, const std::vector<std::int32_t>& late) const;

  Transport& transport_;
  Patience patience_;
  const std::atomic<bool>& aborted_;
  Warn warn_;
  std::deque<Message> in_flight_;
};

}  // namespace tokavg
