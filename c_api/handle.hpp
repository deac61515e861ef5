// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/error.hpp"

namespace tokavg {

// Turns objects into handles and back. A handle is a slot and a generation, never an address: a freed, foreign or
// uninitialised one is recognised without touching memory. Looking one up takes no lock.
static_assert(sizeof(void*) == 8, "a handle needs 64 bits");

template <typename Object>
class HandleTable {
 public:
  // `kind`, 1 to 127, differs from table to table: bindings see untyped pointers, and mix them up.
  explicit HandleTable(unsigned kind) noexcept : kind_(std::uintptr_t{kind} << kKindShift) {}

  void* insert(std::shared_ptr<Object> object) {
    const std::lock_guard lock(mutex_);
    for (std::size_t tried = 0; tried < kSlots; ++tried) {
      next_ = (next_ + 1) % kSlots;
      Slot& slot = slots_[next_];
      if (slot.owner) continue;
      slot.owner = std::move(object);
      slot.object = slot.owner.get();
      generation_ = (generation_ + 1) & kGenerations;
      // Odd, so that no aligned pointer of anybody's is ever taken for a handle.
      const std::uintptr_t handle = kind_ | (generation_ << (kSlotBits + 1)) | (next_ << 1) | 1U;
      slot.handle.store(handle, std::memory_order_release);
      return reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr): nobody follows it
    }
    fail(TOKAVG_ERR_MEMORY, "%zu handles are in use; free those that are not needed", kSlots);
  }

  // nullptr where the handle is not live.
  Object* find(const void* handle) const noexcept {
    const Slot& slot = slots_[slot_of(handle)];
    return slot.handle.load(std::memory_order_acquire) == key(handle) && handle != nullptr ? slot.object : nullptr;
  }

  // For calls from other threads: keeps the object alive beyond a concurrent remove.
  std::shared_ptr<Object> share(const void* handle) const {
    const std::lock_guard lock(mutex_);
    return find(handle) != nullptr ? slots_[slot_of(handle)].owner : nullptr;
  }

  // The object lives on until the result is dropped; nullptr where the handle is not live.
  std::shared_ptr<Object> remove(const void* handle) noexcept {
    const std::lock_guard lock(mutex_);
    if (find(handle) == nullptr) return nullptr;
    Slot& slot = slots_[slot_of(handle)];
    slot.handle.store(0, std::memory_order_release);
    slot.object = nullptr;
    return std::move(slot.owner);
  }

 private:
  static constexpr std::size_t kSlotBits = 12;
  static constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;
  static constexpr std::uintptr_t kGenerations = (std::uintptr_t{1} << 40) - 1;
  static constexpr unsigned kKindShift = 56;
  struct Slot {
    std::atomic<std::uintptr_t> handle{0};
    Object* object = nullptr;
    std::shared_ptr<Object> owner;
  };
  static std::uintptr_t key(const void* handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }
  static std::size_t slot_of(const void* handle) noexcept { return (key(handle) >> 1) & (kSlots - 1); }

  const std::uintptr_t kind_;
  mutable std::mutex mutex_;
  std::array<Slot, kSlots> slots_;
  std::size_t next_ = 0;
  std::uintptr_t generation_ = 0;
};

}  // namespace tokavg
