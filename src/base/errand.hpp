// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace tokavg {

// A call that may wait for long, or never return, made in a thread that can be left behind. NCCL hangs where a rank
// does not come, and so may its very abort (NVIDIA/nccl#829, #1013); cudaFree waits for all that a GPU is doing.
//
// A process that ends gives the errands under way a second. What comes later is not done at all, and one that sees
// process_ends() had better touch nothing of CUDA's any more, which ends too. In a child after fork() there are none.
class Errand {
 public:
  // Throws Error MEMORY when the system has no thread to give, STATE when the process ends; body is destroyed then.
  explicit Errand(std::function<void()> body);

  // False when it is still under way; then it goes on alone, with what the body holds. Throws what the body threw.
  bool done_by(std::chrono::steady_clock::time_point end);

  [[nodiscard]] static bool process_ends() noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tokavg
