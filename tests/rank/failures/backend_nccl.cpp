// SPDX-License-Identifier: Apache-2.0
#include "cuda/nccl_team.hpp"
#include "failures/backend.hpp"

namespace failures {

Backend backend() { return {contract::nccl_over_threads_memory, TOKAVG_TRANSPORT_NCCL, false}; }

}  // namespace failures
