// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "cuda_emulator/lock.hpp"

namespace cuda_emulator {

// The objects behind one kind of handle. A handle is a number that is never given twice, so one that was destroyed is
// always recognised.
template <typename Handle, typename Object>
class Handles {
 public:
  Handle add(std::shared_ptr<Object> object) {
    const Locked locked(lock_);
    const auto handle = reinterpret_cast<Handle>(next_ += 16);
    objects_[handle] = std::move(object);
    return handle;
  }

  std::shared_ptr<Object> find(Handle handle) {
    const Locked locked(lock_);
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }

  std::shared_ptr<Object> remove(Handle handle) {
    const Locked locked(lock_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  std::size_t size() {
    const Locked locked(lock_);
    return objects_.size();
  }

 private:
  Lock lock_;
  std::map<Handle, std::shared_ptr<Object>> objects_;
  std::uintptr_t next_ = 0x1000;
};

}  // namespace cuda_emulator
