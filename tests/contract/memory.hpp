// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tokavg/types.h"

namespace contract {

// Where a rank's labels, losses and gradients live: the same test runs on the host and on a GPU.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  virtual void configure(tokavg_config_t& config) { config.device = TOKAVG_DEVICE_HOST; }
  [[nodiscard]] virtual std::int32_t kind() const { return TOKAVG_MEMORY_HOST; }
  [[nodiscard]] virtual tokavg_stream_t stream() const { return nullptr; }
  // The same bytes where the library is to find them. On the host they stay where they are.
  virtual void* put(const void* bytes, std::size_t size);
  // Back again, when all that was enqueued is done.
  virtual void get(void* bytes, const void* from, std::size_t size);
  // What was put is no longer needed.
  virtual void clear() {}

  template <typename Value>
  void* put(const std::vector<Value>& values) {
    return put(values.data(), values.size() * sizeof(Value));
  }
  template <typename Value>
  void get(std::vector<Value>& values, const void* from) {
    get(values.data(), from, values.size() * sizeof(Value));
  }
};

using MakeMemory = std::function<std::unique_ptr<Memory>(int rank)>;
std::unique_ptr<Memory> host_memory(int rank);

}  // namespace contract
