// SPDX-License-Identifier: Apache-2.0
// What programs that measure ask a GPU for, and the emulator does not know. An hour of its time means nothing.
#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" {

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{1} << 30;
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t /*begin*/, cudaEvent_t end) {
  *ms = 1;
  return cudaEventQuery(end);
}

}  // extern "C"
