// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/message.hpp"
#include "device/stream_device.hpp"
#include "transport/transport.hpp"

namespace tokavg {

// What only a message that was made on a device has.
struct StreamPart {
  StreamMessage order;  // what to make; its roll is the device's to complete
  Stream stream = nullptr;
  bool captured = false;  // into a graph: it comes anew with every replay
  // When it has arrived.
  std::uint64_t number = 0;         // among the messages of this device
  std::uint64_t reduce_number = 0;  // among its steps
  PerTerm<std::uint64_t> local_tokens{};
};

// One message on its way.
struct Message {
  std::string name;  // "step 5", for texts
  MessageKind kind = MessageKind::kReduce;
  std::uint64_t sequence = 0;
  tokavg_ticket_t newest = 0;  // the ticket that its loss slots count back from
  std::vector<std::uint64_t> words;
  std::optional<std::uint64_t> roll;  // unknown to a rank whose options were wrong
  std::optional<Error> own_failure;   // what this rank reports in it
  std::optional<StreamPart> of_stream;

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

using Receive = std::function<void(const Message&)>;  // called for each message, in order, when it has arrived
using Warn = std::function<void(const std::string&)>;

// Sends messages and waits for them, in order: made on the host (Messenger) or on a device (StreamMessenger).
class Courier {
 public:
  Courier() = default;
  Courier(const Courier&) = delete;
  Courier& operator=(const Courier&) = delete;
  virtual ~Courier() = default;

  virtual void post(Message message) = 0;
  [[nodiscard]] virtual std::size_t in_flight() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t oldest() const noexcept = 0;
  // Receives what has arrived, without waiting.
  virtual void poll(const Receive& receive) = 0;
  // Until the message has arrived (true), or limit_ms have passed (false; 0 asks once, -1: until the deadline). Throws
  // Error TIMEOUT with the late ranks when the deadline passes, ABORTED, or what the transport reports.
  virtual bool wait(std::uint64_t sequence, std::int64_t limit_ms, const Receive& receive) = 0;
  // The context has failed: nothing may wait any longer. The other ranks are told by the transport.
  virtual void give_up(const Error& /*why*/) noexcept {}
};

// Spinning is the fastest answer while the sum is microseconds away; after that it would steal from the forward passes
// of ranks that share the core (measured: spinning costs 7 % of their compute, sleeping to 100 us 0.1 ms a step).
class Backoff {
 public:
  void pause();
  void reset() noexcept { *this = Backoff{}; }

 private:
  int polls_ = 0;
  int sleep_us_ = 10;
};

// Whatever goes wrong with a message, this rank is out of step with the others from then on.
tokavg_status_t sticky(tokavg_status_t status);

double seconds_between(Clock::time_point from, Clock::time_point to);

}  // namespace tokavg
