// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>

#include "core/courier.hpp"

namespace tokavg {

// Messages of the host. The only place that polls a transport and that watches its deadlines.
class Messenger final : public Courier {
 public:
  Messenger(Transport& transport, Patience patience, const std::atomic<bool>& aborted, Warn warn);

  void post(Message message) override;
  [[nodiscard]] std::size_t in_flight() const noexcept override { return in_flight_.size(); }
  [[nodiscard]] std::uint64_t oldest() const noexcept override { return in_flight_.front().sequence; }
  [[nodiscard]] bool arrived(std::uint64_t sequence) const noexcept {
    return in_flight_.empty() || in_flight_.front().sequence > sequence;
  }
  void poll(const Receive& receive) override;
  bool wait(std::uint64_t sequence, std::int64_t limit_ms, const Receive& receive) override;

  // Something waits for all messages up to this one, since `now` or longer.
  void ask(std::uint64_t sequence, Clock::time_point now);
  // Warns, and throws TIMEOUT, where something has waited too long.
  void watch(Clock::time_point now);

 private:
  [[noreturn]] void time_out(const Message& message, const std::vector<std::int32_t>& late) const;

  Transport& transport_;
  Patience patience_;
  const std::atomic<bool>& aborted_;
  Warn warn_;
  std::deque<Message> in_flight_;
};

}  // namespace tokavg
