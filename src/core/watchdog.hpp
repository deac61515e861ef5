// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/stream_service.hpp"

namespace tokavg {

// Watches messages that a device sums by itself (Transport::stream_sums()): whoever waits too long is released by
// giving the sums up. Where a context ends for another reason, a lent channel is given up only if what is on it does
// not come to an end within a second.
class Watchdog final : public StreamService {
 public:
  Watchdog(StreamDevice& device, StreamSums& sums, Patience patience, const std::atomic<bool>& aborted);

 private:
  bool turn() override;
  void vouch() override { sums_.vouch(); }
  void release_streams(const Error& why) noexcept override;
  void wind_up() noexcept override;
  void cancel() noexcept;
  void look_at(std::int32_t index, std::uint64_t asked, Clock::time_point now);

  // What the streams, or the host, wait for in a box.
  struct Wait {
    std::uint64_t number = 0;
    Clock::time_point since;
    bool warned = false;
  };

  StreamSums& sums_;
  const Patience patience_;
  std::vector<Wait> waits_;
};

}  // namespace tokavg
