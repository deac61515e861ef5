// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/copy.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include "cuda_emulator/capture.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/memory.hpp"
#include "cuda_emulator/sanitizers.hpp"

namespace cuda_emulator {
namespace {

struct End {
  int device = -1;
  bool pageable = false;
};

// False: the range leaves its allocation, or is not what the copy's kind says.
bool look_at(const void* begin, std::size_t size, bool device_expected, bool any, End* end) {
  const std::optional<Allocation> found = find_allocation(begin);
  if (!found) {
    end->pageable = true;
    return any || !device_expected;
  }
  if (reinterpret_cast<std::uintptr_t>(begin) - found->begin + size > found->size) return false;
  const bool on_device = found->kind == MemoryKind::kDevice;
  if (on_device) end->device = found->device;
  return any || on_device == device_expected;
}

class BothAccess {
 public:
  BothAccess(int one, int other) {
    if (one >= 0) one_.emplace(one);
    if (other >= 0) other_.emplace(other);
  }

 private:
  std::optional<DeviceAccess> one_;
  std::optional<DeviceAccess> other_;
};

void run_copy(const Copy& copy) {
  const BothAccess access(copy.to_device, copy.from_device);
  note_read(copy.from, copy.size);
  note_write(copy.to, copy.size);
  std::memcpy(copy.to, copy.from, copy.size);
}

}  // namespace

cudaError_t plan_copy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, Copy* copy) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (size > 0 && (to == nullptr || from == nullptr)) return cudaErrorInvalidValue;
  const bool any = kind == cudaMemcpyDefault;
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  End target, source;
  if (!look_at(to, size, to_device, any, &target)) return cudaErrorInvalidValue;
  if (!look_at(from, size, from_device, any, &source)) return cudaErrorInvalidValue;
  *copy = {to, from, size, target.device, source.device, target.pageable, source.pageable};
  return cudaSuccess;
}

cudaError_t submit_copy(const std::shared_ptr<Stream>& stream, Copy copy, bool* waits) {
  *waits = copy.to_pageable;
  CaptureInfo info;
  if (copy.to_pageable || copy.from_pageable) {
    const bool known = capture_info(*stream, &info) == cudaSuccess;
    // Its memory would have to stay what it is until the graph is replayed.
    if (!known || info.status != cudaStreamCaptureStatusNone) return check_host_wait(*stream);
  }
  if (!copy.from_pageable) return submit(stream, {[copy] { run_copy(copy); }});
  note_read(copy.from, copy.size);
  const auto* begin = static_cast<const unsigned char*>(copy.from);
  const auto staged = std::make_shared<const std::vector<unsigned char>>(begin, begin + copy.size);
  return submit(stream, {[copy, staged]() mutable {
                  copy.from = staged->data();
                  run_copy(copy);
                }});
}

cudaError_t submit_fill(const std::shared_ptr<Stream>& stream, void* to, int value, std::size_t size) {
  if (size == 0) return cudaSuccess;
  const std::optional<Allocation> found = find_allocation(to);
  if (!found || reinterpret_cast<std::uintptr_t>(to) - found->begin + size > found->size) return cudaErrorInvalidValue;
  const int device = found->kind == MemoryKind::kDevice ? found->device : -1;
  return submit(stream, {[to, value, size, device] {
                  const BothAccess access(device, -1);
                  note_write(to, size);
                  std::memset(to, value, size);
                }});
}

}  // namespace cuda_emulator
