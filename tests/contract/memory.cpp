// SPDX-License-Identifier: Apache-2.0
#include "contract/memory.hpp"

#include <cstring>

namespace contract {

// The library takes void* although it only reads: an array may also be an output.
void* Memory::put(const void* bytes, std::size_t /*size*/) { return const_cast<void*>(bytes); }

void Memory::get(void* bytes, const void* from, std::size_t size) {
  if (bytes != from) std::memcpy(bytes, from, size);
}

std::unique_ptr<Memory> host_memory(int /*rank*/) { return std::make_unique<Memory>(); }

}  // namespace contract
