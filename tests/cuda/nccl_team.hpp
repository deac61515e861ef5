// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/team.hpp"

namespace contract {

// Most ranks of a communicator: GPUs have one each; 0 where there is no libnccl.
int nccl_devices();
// Ranks that are threads, each with a GPU and a communicator that it lends to the library, which uses it or (own)
// splits one off.
void run_on_nccl(int ranks, bool own, const Body& body);
// GPU memory, and config.transport NCCL.
std::unique_ptr<Memory> nccl_over_threads_memory(int rank);

}  // namespace contract
