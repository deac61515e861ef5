// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "base/cuda/event.hpp"
#include "base/cuda/own_stream.hpp"

// What a context owns on a GPU.
namespace tokavg::cuda {

// Memory, all zero when the constructor returns: cudaMemset alone is ordered before no stream but the legacy one.
class Memory {
 public:
  enum class Kind { kDevice, kMapped };
  Memory(Kind kind, std::size_t bytes, cudaStream_t stream);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  [[nodiscard]] void* on_host() const noexcept { return host_; }  // kMapped
  [[nodiscard]] void* on_device() const noexcept { return device_; }

 private:
  Kind kind_;
  void* host_ = nullptr;
  void* device_ = nullptr;
};

// All that must outlive the kernels that use it.
struct Resources {
  explicit Resources(int which) : device(which) {}

  int device;
  std::unique_ptr<OwnStream> own_stream;  // messages nobody's stream asks for
  std::unique_ptr<Memory> mapped_memory;
  std::unique_ptr<Memory> device_memory;  // goes before the mapped: freeing it waits for all kernels, of graphs too
  std::vector<Event> events;
  Resources* next_left = nullptr;  // of those that could not be freed
};

// Never waits: freeing memory would, for all that the GPU is doing, and a rank that waits there keeps the others from
// what that GPU is perhaps waiting for. So it is done in an errand, after the `last_uses`, events of the resources.
void free_when_unused(std::unique_ptr<Resources> resources, const std::vector<cudaEvent_t>& last_uses) noexcept;

}  // namespace tokavg::cuda
