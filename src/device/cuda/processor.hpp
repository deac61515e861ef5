// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

#include "base/cuda/check.hpp"

#ifndef __launch_bounds__  // only nvcc knows it
#define __launch_bounds__(...)
#endif

// What a device is, and launches that fit it.
namespace tokavg::cuda {

// Cheap: the runtime keeps them.
inline int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}
inline int attribute(cudaDeviceAttr which) {  // of the current device
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return attribute(which, device);
}

// So many that each has `per_block` of the `work`, but no more than the processors run at once.
inline unsigned blocks_for(std::int64_t work, std::int64_t per_block, int blocks_per_processor) {
  const std::int64_t wanted = work / per_block + (work % per_block != 0 ? 1 : 0);
  const std::int64_t most = static_cast<std::int64_t>(attribute(cudaDevAttrMultiProcessorCount)) * blocks_per_processor;
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most));
}

}  // namespace tokavg::cuda
