// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/gpu.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

#include "base/error.hpp"
#include "transport/nccl/check.hpp"

namespace tokavg::nccl {

int choose_gpu(std::int32_t device_index) {
  if (device_index < 0) {
    int current = 0;
    check(cudaGetDevice(&current), "cudaGetDevice");
    return current;
  }
  int count = 0;
  check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
  if (device_index >= count) {
    fail(TOKAVG_ERR_CONFIG, "config.device_index is %d; this process sees %d GPUs, 0 to %d", device_index, count,
         count - 1);
  }
  return device_index;
}

Words::Words(std::size_t n_words) {
  const std::size_t n_bytes = n_words * sizeof(std::uint64_t);
  check(cudaMalloc(&gpu_, n_bytes), "cudaMalloc");
  try {
    check(cudaHostAlloc(&host_, n_bytes, cudaHostAllocDefault), "cudaHostAlloc");
  } catch (...) {
    static_cast<void>(cudaFree(gpu_));
    throw;
  }
  std::memset(host_, 0, n_bytes);
}

Words::~Words() {
  static_cast<void>(cudaFree(gpu_));
  static_cast<void>(cudaFreeHost(host_));
}

}  // namespace tokavg::nccl
