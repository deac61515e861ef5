// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace cuda_emulator {

// A launch, as enqueued or captured. Copies of its arguments are inside `body`.
struct Kernel {
  std::string name;
  dim3 grid;
  dim3 block;
  unsigned cluster = 1;
  std::size_t shared_bytes = 0;
  std::function<void()> body;
};

// Runs all blocks on the calling thread: clusters one after the other, in an order that `seed` decides.
void run_kernel(const Kernel& kernel, std::uint64_t seed);

// What the calling thread does, for a report: "kernel 'x', block 3, thread 17" or "host code".
void describe_place(char* text, std::size_t size);

// Whether an access to the address means that the CUDA thread that runs here has used up its stack.
bool is_stack_overflow(const void* address);

}  // namespace cuda_emulator
