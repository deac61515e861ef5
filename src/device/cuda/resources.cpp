// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resources.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

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

// In a thread of an errand, which has no device yet. Of a GPU that has gone there is nothing left to be freed, and when
// the process ends the driver frees it all.
void free_here(Resources* resources, const std::vector<cudaEvent_t>& last_uses) {
  const OutsideCapture outside;
  if (cudaSetDevice(resources->device) != cudaSuccess) return;
  while (in_use(last_uses)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (Errand::process_ends()) return;
  }
  if (Errand::process_ends()) return;
  const std::unique_ptr<Resources> freed(resources);
}

}  // namespace

void free_when_unused(std::unique_ptr<Resources> resources, const std::vector<cudaEvent_t>& last_uses) noexcept {
  Resources* owned = resources.release();
  try {
    Errand([owned, last_uses] { free_here(owned, last_uses); });
  } catch (...) {
    // No thread: it stays until the process ends.
  }
}

}  // namespace tokavg::cuda
