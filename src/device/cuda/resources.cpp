// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resources.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "base/cuda/check.hpp"
#include "base/cuda/current.hpp"
#include "base/errand.hpp"

namespace tokavg::cuda {

Memory::Memory(Kind kind, std::size_t bytes, cudaStream_t stream) : kind_(kind) {
  if (kind == Kind::kDevice) {
    check(cudaMalloc(&device_, bytes), "cudaMalloc");
    try {
      check(cudaMemsetAsync(device_, 0, bytes, stream), "cudaMemsetAsync");
      check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    } catch (...) {
      static_cast<void>(cudaFree(device_));
      throw;
    }
    return;
  }
  check(cudaHostAlloc(&host_, bytes, cudaHostAllocMapped | cudaHostAllocPortable), "cudaHostAlloc");
  std::memset(host_, 0, bytes);
  if (const cudaError_t error = cudaHostGetDevicePointer(&device_, host_, 0); error != cudaSuccess) {
    static_cast<void>(cudaFreeHost(host_));
    check(error, "cudaHostGetDevicePointer");
  }
}

Memory::~Memory() { static_cast<void>(kind_ == Kind::kDevice ? cudaFree(device_) : cudaFreeHost(host_)); }

namespace {

bool in_use(const std::vector<cudaEvent_t>& last_uses) {
  return std::any_of(last_uses.begin(), last_uses.end(),
                     [](cudaEvent_t event) { return cudaEventQuery(event) == cudaErrorNotReady; });
}

// What cannot be freed stays until the process ends; a list of it, so that leak checkers find it.
void leave(std::unique_ptr<Resources> resources) noexcept {
  static std::atomic<Resources*> left = nullptr;
  Resources* const mine = resources.release();
  mine->next_left = left.load();
  while (!left.compare_exchange_weak(mine->next_left, mine)) {
  }
}

// In a thread of an errand, which has no device yet. Of a GPU that has gone there is nothing left to be freed, and when
// the process ends the driver frees it all.
void free_here(std::unique_ptr<Resources>& resources, const std::vector<cudaEvent_t>& last_uses) {
  const OutsideCapture outside;
  if (cudaSetDevice(resources->device) != cudaSuccess) return;
  while (in_use(last_uses)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (Errand::process_ends()) return;
  }
  if (!Errand::process_ends()) resources.reset();
}

}  // namespace

void free_when_unused(std::unique_ptr<Resources> resources, const std::vector<cudaEvent_t>& last_uses) noexcept {
  std::shared_ptr<std::unique_ptr<Resources>> owned;
  try {
    owned = std::make_shared<std::unique_ptr<Resources>>();
    *owned = std::move(resources);
    Errand([owned, last_uses] {
      static_cast<void>(caught([&] { free_here(*owned, last_uses); }));
      if (*owned) leave(std::move(*owned));
    });
  } catch (...) {
    leave(std::move(resources ? resources : *owned));  // no memory, or no thread
  }
}

}  // namespace tokavg::cuda
