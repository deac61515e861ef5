// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/gpu.hpp"

#include <cstring>

#include "base/error.hpp"
#include "transport/nccl/check.hpp"

namespace tokavg::nccl {

OnGpu::OnGpu(int device) {
  check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  try {
    check(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ == device) return;
    check(cudaSetDevice(device), "cudaSetDevice");
    changed_ = true;
  } catch (...) {
    give_back();
    throw;
  }
}

OnGpu::~OnGpu() { give_back(); }

void OnGpu::give_back() noexcept {
  if (changed_) static_cast<void>(cudaSetDevice(before_));
  static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_));
}

int choose_gpu(std::int32_t device_index) {
  if (device_index < 0) {
    int current = 0;
    check(cudaGetDevice(&current), "cudaGetDevice");
    return current;
  }
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (device_index >= count) {
    fail(TOKAVG_ERR_CONFIG, "config.device_index is %d; this process sees %d GPUs, 0 to %d", device_index, count,
         count - 1);
  }
  return device_index;
}

Stream::Stream() {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
}

Stream::~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }

Event::Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

bool Event::happened() const {
  const cudaError_t result = cudaEventQuery(event_);
  if (result == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());
    return false;
  }
  check(result, "cudaEventQuery");
  return true;
}

Words::Words(std::size_t n_words) {
  const std::size_t n_bytes = n_words * sizeof(std::uint64_t);
  check(cudaMalloc(&gpu_, n_bytes), "cudaMalloc");
  try {
    check(cudaHostAlloc(&host_, n_bytes, cudaHostAllocDefault), "cudaHostAlloc");
  } catch (...) {
    static_cast<void>(cudaFree(gpu_));
    throw;
  }
  std::memset(host_, 0, n_bytes);
}

Words::~Words() {
  static_cast<void>(cudaFree(gpu_));
  static_cast<void>(cudaFreeHost(host_));
}

}  // namespace tokavg::nccl
