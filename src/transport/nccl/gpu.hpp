// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace tokavg::nccl {

// While it lives, calls go to this GPU, and allocating, freeing and asking after events disturb no capture, whatever
// stream of whichever thread is being captured just now. Afterwards all is as the caller had it.
class OnGpu {
 public:
  explicit OnGpu(int device);
  ~OnGpu();
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

 private:
  void give_back() noexcept;

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  int before_ = 0;
  bool changed_ = false;
};

// The GPU that config.device_index means: -1 is the current one. Throws Error CONFIG where there is no such GPU.
int choose_gpu(std::int32_t device_index);

// Does not wait for the legacy default stream, and goes before others.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event();
  ~Event();
  Event(Event&& other) noexcept : event_(other.event_) { other.event_ = nullptr; }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event& operator=(Event&&) = delete;
  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }
  // Has all that was recorded happened? True where nothing was.
  [[nodiscard]] bool happened() const;

 private:
  cudaEvent_t event_ = nullptr;
};

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
