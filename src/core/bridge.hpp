// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/messenger.hpp"
#include "core/stream_service.hpp"

namespace tokavg {

// Carries messages from a device to a transport that sums host memory, and the sums back: what a kernel has published
// in its box is posted, in the order of the device's numbers, and a kernel that waits goes on when the sums are there.
// From its start to its end it alone uses the transport, but for Transport::abort().
class Bridge final : public StreamService {
 public:
  Bridge(StreamDevice& device, Transport& transport, Patience patience, const std::atomic<bool>& aborted);

 private:
  bool turn() override;
  bool take_published();
  void look_for_races(std::uint64_t asked, Clock::time_point now);
  void look_who_waits();
  void deliver(const Message& message);

  const Patience patience_;
  const std::size_t n_words_;
  Messenger messenger_;
  std::uint64_t next_ = 1;
  std::vector<std::uint64_t> taken_;             // the number that each box had last
  std::optional<Clock::time_point> next_asked_;  // since when a message is waited for that was not made
};

}  // namespace tokavg
