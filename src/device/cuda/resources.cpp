// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/resources.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "device/cuda/current.hpp"

namespace tokavg::cuda {

Event::Event() { check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

OwnStream::OwnStream() {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "cudaStreamCreateWithPriority");
}

OwnStream::~OwnStream() { static_cast<void>(cudaStreamDestroy(stream_)); }

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

struct Unused {
  std::unique_ptr<Resources> resources;
  std::vector<cudaEvent_t> last_uses;  // among the resources' own events

  [[nodiscard]] bool in_use() const noexcept {
    return std::any_of(last_uses.begin(), last_uses.end(),
                       [](cudaEvent_t event) { return cudaEventQuery(event) == cudaErrorNotReady; });
  }
};

// Never destroyed: at the end of a process the driver may be gone before.
struct Aside {
  std::mutex mutex;
  std::vector<Unused> list;
};

Aside& aside() {
  static auto* instance = new Aside;  // NOLINT(cppcoreguidelines-owning-memory)
  return *instance;
}

// False where the device cannot be made current: then a later call may succeed.
bool destroy(Unused& unused) noexcept {
  try {
    const CurrentDevice current(unused.resources->device);
    unused.resources.reset();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

void free_what_is_unused() noexcept {
  const OutsideCapture outside;
  const std::lock_guard lock(aside().mutex);
  std::erase_if(aside().list, [](Unused& unused) { return !unused.in_use() && destroy(unused); });
  static_cast<void>(cudaGetLastError());
}

void free_when_unused(std::unique_ptr<Resources> resources, const std::vector<cudaEvent_t>& last_uses) noexcept {
  try {
    const std::lock_guard lock(aside().mutex);
    aside().list.push_back({std::move(resources), last_uses});
  } catch (const std::bad_alloc&) {
    return;  // then it stays
  }
  free_what_is_unused();
}

}  // namespace tokavg::cuda
