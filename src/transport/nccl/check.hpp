// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "transport/nccl/library.hpp"

namespace tokavg::nccl {

// Throws Error that names the call and says what went wrong: MEMORY where the GPU has none left, else DEVICE.
void check(cudaError_t result, const char* call);

// The same for NCCL: TRANSPORT, with what NCCL says about its last error.
void check(const Library& library, ncclResult_t result, const char* call);

}  // namespace tokavg::nccl
