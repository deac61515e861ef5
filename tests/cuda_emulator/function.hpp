// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace cuda_emulator {

// What cudaFuncSetAttribute() has allowed a kernel; nullptr: the most that any kernel was allowed.
std::size_t shared_memory_limit(const void* function);
unsigned cluster_limit(const void* function);

// Of a block that asks for it, by compute capability.
std::size_t most_shared_memory();

}  // namespace cuda_emulator
