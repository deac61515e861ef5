// SPDX-License-Identifier: Apache-2.0
#include "core/courier.hpp"

#include <thread>

namespace tokavg {

tokavg_status_t sticky(tokavg_status_t status) { return is_sticky(status) ? status : TOKAVG_ERR_TRANSPORT; }

void Backoff::pause() {
  constexpr int kSpins = 100;
  constexpr int kYields = 100;
  constexpr int kLongestSleepUs = 100;
  ++polls_;
  if (polls_ <= kSpins) return;
  if (polls_ <= kSpins + kYields) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::chrono::microseconds(sleep_us_));
  sleep_us_ = std::min(2 * sleep_us_, kLongestSleepUs);
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace tokavg
