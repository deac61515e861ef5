// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include "base/error.hpp"

namespace tokavg::cuda {

// The one way to look at what a CUDA call returns. `call`: its name, for the text.
inline void check(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next launch would report it again
  fail(error == cudaErrorMemoryAllocation ? TOKAVG_ERR_MEMORY : TOKAVG_ERR_DEVICE, "%s: %s (%s)", call,
       cudaGetErrorString(error), cudaGetErrorName(error));
}

}  // namespace tokavg::cuda
