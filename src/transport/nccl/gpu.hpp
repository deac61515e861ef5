// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cuda/current.hpp"
#include "base/cuda/event.hpp"

namespace tokavg::nccl {

using cuda::Event;

// While it lives, calls go to this GPU, and allocating, freeing and asking after events disturb no capture, whatever
// stream of whichever thread is being captured just now. Afterwards all is as the caller had it; restore() tells where
// that fails.
class OnGpu {
 public:
  explicit OnGpu(int device) : current_(device) {}
  void restore() { current_.restore(); }

 private:
  cuda::OutsideCapture outside_;
  cuda::CurrentDevice current_;
};

// The GPU that config.device_index means: -1 is the current one. Throws Error CONFIG where there is no such GPU.
int choose_gpu(std::int32_t device_index);

// Words on the GPU and as many in pinned memory of the host; these are zero at first.
class Words {
 public:
  explicit Words(std::size_t n_words);
  ~Words();
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  [[nodiscard]] std::uint64_t* on_gpu() const noexcept { return static_cast<std::uint64_t*>(gpu_); }
  [[nodiscard]] std::uint64_t* on_host() const noexcept { return static_cast<std::uint64_t*>(host_); }

 private:
  void* gpu_ = nullptr;
  void* host_ = nullptr;
};

}  // namespace tokavg::nccl
