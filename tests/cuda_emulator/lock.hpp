// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "cuda_emulator/sanitizers.hpp"

namespace cuda_emulator {

// Guards the emulator's own state, unseen by ThreadSanitizer: see sanitizers.hpp.
using Lock = std::mutex;

class Locked {
 public:
  explicit Locked(Lock& lock) : locked_(lock) {}

  void wait(std::condition_variable& changed) { changed.wait(locked_); }

  template <typename Condition>
  void wait(std::condition_variable& changed, Condition condition) {
    changed.wait(locked_, condition);
  }

 private:
  Unseen unseen_;  // first, so that it outlives the lock
  std::unique_lock<Lock> locked_;
};

}  // namespace cuda_emulator
