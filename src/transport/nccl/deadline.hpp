// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

namespace tokavg::nccl {

using Clock = std::chrono::steady_clock;

// By when something must be done, and how that is told.
struct Deadline {
  explicit Deadline(std::int64_t timeout_ms)
      : end(Clock::now() + std::chrono::milliseconds(timeout_ms)), seconds(static_cast<double>(timeout_ms) / 1000) {}

  Clock::time_point end;
  double seconds;
};

}  // namespace tokavg::nccl
