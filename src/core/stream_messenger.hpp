// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <list>
#include <vector>

#include "core/stream_service.hpp"

namespace tokavg {

// Messages that a device makes. Those of a captured step arrive anew with every replay of its graph.
class StreamMessenger final : public Courier {
 public:
  StreamMessenger(StreamDevice& device, StreamService& service, Patience patience, Warn warn);

  void post(Message message) override;
  [[nodiscard]] std::size_t in_flight() const noexcept override { return in_flight_.size(); }
  [[nodiscard]] std::uint64_t oldest() const noexcept override { return in_flight_.front().message.sequence; }
  void poll(const Receive& receive) override;
  bool wait(std::uint64_t sequence, std::int64_t limit_ms, const Receive& receive) override;
  void give_up(const Error& why) noexcept override { service_.fail_with(why); }

  // Its graph will not be launched any more.
  void forget_captured(std::uint64_t sequence);

 private:
  struct Pending {
    Message message;
    std::uint64_t seen = 0;  // the number that was in the box before, or that was received last
    bool received = false;
  };
  [[nodiscard]] bool arrived(std::uint64_t sequence) const noexcept;
  void ask(std::uint64_t sequence);
  bool read(Pending& pending, std::uint64_t newest);
  std::vector<Pending*> read_in_order();

  StreamDevice& device_;
  StreamService& service_;
  const Patience patience_;
  Warn warn_;
  std::deque<Pending> in_flight_;
  std::list<Pending> captured_;
};

}  // namespace tokavg
