// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <functional>

// What a kernel finds under the emulator: CUDA's own names, and a few more for which CUDA has syntax or PTX. Include
// the CUDA headers first; this redefines __shared__.

#include "cuda_emulator/device_arithmetic.hpp"
#include "cuda_emulator/device_atomics.hpp"
#include "cuda_emulator/device_loads.hpp"
#include "cuda_emulator/device_warp.hpp"

// A stream has a thread of its own and runs its blocks one after the other, so this is one object a block. Blocks of a
// cluster are interleaved on that thread: they must use shared_memory() instead.
#undef __shared__
#define __shared__ static thread_local

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;

namespace cuda_emulator {

// Enqueues a kernel. The shape is held against what cudaFuncSetAttribute allowed `kernel`; NULL for one without.
cudaError_t launch(const char* name, const cudaLaunchConfig_t& config, std::function<void()> body, const void* kernel);

void block_barrier();
unsigned char* shared_memory();  // aligned to 128 bytes, poisoned when the block starts
unsigned cluster_rank();
unsigned cluster_size();
void cluster_sync();
void* shared_of(void* mine, unsigned rank);

std::uint64_t nanoseconds();
void nap(unsigned ns);

template <typename... Expected, typename... Given>
cudaError_t launch_kernel_ex(const cudaLaunchConfig_t* config, void (*kernel)(Expected...), Given... arguments) {
  return launch(
      "kernel", *config, [=] { kernel(static_cast<Expected>(arguments)...); }, reinterpret_cast<const void*>(kernel));
}

}  // namespace cuda_emulator

// The runtime's own template, for programs that are not the library's: below it the arguments have lost their types.
#define cudaLaunchKernelEx cuda_emulator::launch_kernel_ex

inline void __syncthreads() { cuda_emulator::block_barrier(); }
inline void __nanosleep(unsigned ns) { cuda_emulator::nap(ns); }
