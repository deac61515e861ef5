// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include "base/cuda/check.hpp"
#include "transport/nccl/library.hpp"

namespace tokavg::nccl {

using cuda::check;  // of what CUDA returns

// The same for NCCL: TRANSPORT, with what NCCL says about its last error.
void check(const Library& library, ncclResult_t result, const char* call);

}  // namespace tokavg::nccl
