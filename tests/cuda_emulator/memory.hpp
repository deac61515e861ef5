// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

// Memory of devices and pinned memory. Each allocation ends (rounded up to CUDA's 256 bytes) at a page that cannot be
// touched; addresses are never used twice, so that what was freed is known for ever.
namespace cuda_emulator {

enum class MemoryKind { kDevice, kPinned };

struct Allocation {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  MemoryKind kind = MemoryKind::kDevice;
  int device = 0;
  bool freed = false;
};

// nullptr: no memory. Filled with 0xCD; of more than 1 GiB only the edges are, and pages that nobody touches cost
// nothing.
void* allocate(std::size_t size, MemoryKind kind, int device);

// False: `pointer` is not the beginning of a living allocation of this kind. Reports writes past either end.
bool release(void* pointer, MemoryKind kind);

// The living allocation that contains the address.
std::optional<Allocation> find_allocation(const void* address);

// The same for a report from a signal handler: also one that was freed or that ends before the address.
std::optional<Allocation> find_neighbour(const void* address);
bool is_emulated_memory(const void* address);

std::size_t living_allocations(MemoryKind kind);

// While one exists, the memory of the device can be accessed; else a touch faults.
class DeviceAccess {
 public:
  explicit DeviceAccess(int device);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  int device_;
};

// Puts the handler in place that names the fault; programs and test frameworks set their own in between.
void watch_faults();

}  // namespace cuda_emulator
