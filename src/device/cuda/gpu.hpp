// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/cuda/check.hpp"
#include "device/cuda/launch_shape.hpp"

#ifdef TOKAVG_CUDA_EMULATOR
#include "cuda_emulator/device_code.hpp"
#else
#include <cooperative_groups.h>
#endif

// The few words in which a GPU's compiler and the emulator of the tests differ. Kernels use these and nothing else
// that is not plain CUDA C++: no <<<>>>, no PTX of their own, no `extern __shared__`.
namespace tokavg::cuda {

// Enqueues a kernel. `name` is for texts, and by it the emulator makes a launch fail.
template <typename... Parameters, typename... Arguments>
void launch(const char* name, const LaunchShape& shape, cudaStream_t stream, void (*kernel)(Parameters...),
            Arguments... arguments) {
  const LaunchConfig config(shape, stream);
#ifdef TOKAVG_CUDA_EMULATOR
  const auto* function = reinterpret_cast<const void*>(kernel);  // whose limits the shape is held against
  check(cuda_emulator::launch(
            name, config.get(), [=] { kernel(static_cast<Parameters>(arguments)...); }, function),
        name);
#else
  check(cudaLaunchKernelEx(&config.get(), kernel, static_cast<Parameters>(arguments)...), name);
#endif
}

// The dynamic shared memory of this block, aligned to 128 bytes. A kernel that runs in clusters keeps all that its
// threads share in it, for the emulator runs the blocks of a cluster interleaved.
__device__ inline unsigned char* shared_memory() {
#ifdef TOKAVG_CUDA_EMULATOR
  return cuda_emulator::shared_memory();
#else
  extern __shared__ __align__(128) unsigned char tokavg_shared_memory[];
  return tokavg_shared_memory;
#endif
}

// The place in this cluster: which block, of how many.
__device__ inline unsigned cluster_rank() {
#ifdef TOKAVG_CUDA_EMULATOR
  return cuda_emulator::cluster_rank();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().block_rank();
#else
  return 0;
#endif
}

__device__ inline unsigned cluster_size() {
#ifdef TOKAVG_CUDA_EMULATOR
  return cuda_emulator::cluster_size();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().num_blocks();
#else
  return 1;
#endif
}

// Waits for all threads of all blocks of the cluster; what they wrote to shared memory is then seen.
__device__ inline void cluster_sync() {
#ifdef TOKAVG_CUDA_EMULATOR
  cuda_emulator::cluster_sync();
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  cooperative_groups::this_cluster().sync();
#else
  __syncthreads();
#endif
}

// The same object in the shared memory of block `rank` of this cluster. `mine` lies in shared_memory().
template <typename Value>
__device__ inline Value* shared_of(Value* mine, unsigned rank) {
#ifdef TOKAVG_CUDA_EMULATOR
  return static_cast<Value*>(cuda_emulator::shared_of(mine, rank));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  return cooperative_groups::this_cluster().map_shared_rank(mine, rank);
#else
  return mine;
#endif
}

// Words that host and device share (mapped memory): what was written before a store is seen after the load of it.
__device__ inline std::uint64_t load_from_host(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

__device__ inline void store_to_host(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

// The GPU's clock; it need not be the host's.
__device__ inline std::uint64_t nanoseconds() {
#if defined(__CUDA_ARCH__)
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#elif defined(TOKAVG_CUDA_EMULATOR)
  return cuda_emulator::nanoseconds();
#else
  return 0;
#endif
}

// Lets other work use the processor for about so long.
__device__ inline void nap(unsigned ns) {
#if defined(__CUDA_ARCH__)
  __nanosleep(ns);
#elif defined(TOKAVG_CUDA_EMULATOR)
  cuda_emulator::nap(ns);
#else
  static_cast<void>(ns);
#endif
}

}  // namespace tokavg::cuda
