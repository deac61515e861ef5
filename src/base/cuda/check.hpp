// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "base/error.hpp"

namespace tokavg::cuda {

// The one way to look at what a CUDA call returns. Throws Error that names the call and says what went wrong: MEMORY
// where the GPU has none left, else DEVICE.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // told here: the caller's next look at it is not to find our error
  const bool no_gpu = error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice;
  fail(error == cudaErrorMemoryAllocation ? TOKAVG_ERR_MEMORY : TOKAVG_ERR_DEVICE, "%s: %s (%s)%s", call,
       cudaGetErrorString(error), cudaGetErrorName(error),
       no_gpu ? "; an NVIDIA GPU and a driver for it are needed" : "");
}

}  // namespace tokavg::cuda
