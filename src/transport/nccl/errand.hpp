// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace tokavg::nccl {

using Clock = std::chrono::steady_clock;

// By when something must be done, and how that is told.
struct Deadline {
  explicit Deadline(std::int64_t timeout_ms)
      : end(Clock::now() + std::chrono::milliseconds(timeout_ms)), seconds(static_cast<double>(timeout_ms) / 1000) {}

  Clock::time_point end;
  double seconds;
};

// A call that may never return, made in a thread that can be left behind: NCCL hangs where a rank does not come, and
// so may its very abort (NVIDIA/nccl#829, #1013).
//
// A process that ends gives the errands under way a second.
class Errand {
 public:
  // Throws Error MEMORY when the system has no thread to give; body is destroyed then.
  explicit Errand(std::function<void()> body);

  // False when it is still under way; then it goes on alone, with what the body holds. Throws what the body threw.
  bool done_by(Clock::time_point end);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tokavg::nccl
