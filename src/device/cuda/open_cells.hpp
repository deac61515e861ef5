// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/state.hpp"

namespace tokavg::cuda {

// Which cell the open step adds to. Each microbatch gets one of its own when it first adds something, so that dropping
// the latest is a bit here and no work there; the message adds up those that were kept.
class OpenCells {
 public:
  void begin_microbatch() noexcept { fresh_ = true; }
  void drop_microbatch() noexcept {
    if (!fresh_) kept_ &= ~(1U << current_);
    fresh_ = true;
  }

  // True when the next current() needs a cell and there is none: fold them first, then call folded().
  [[nodiscard]] bool full() const noexcept { return fresh_ && next_ == kCells; }
  void folded() noexcept {
    used_ = 1;
    kept_ = 1;
    next_ = 1;
  }

  int current() noexcept {
    if (fresh_) {
      current_ = next_++;
      used_ |= 1U << current_;
      kept_ |= 1U << current_;
      fresh_ = false;
    }
    return current_;
  }

  [[nodiscard]] std::uint32_t used() const noexcept { return used_; }
  [[nodiscard]] std::uint32_t kept() const noexcept { return kept_; }
  void close() noexcept { *this = OpenCells{}; }

 private:
  std::uint32_t used_ = 0;
  std::uint32_t kept_ = 0;
  int next_ = 0;
  int current_ = 0;
  bool fresh_ = true;
};

}  // namespace tokavg::cuda
