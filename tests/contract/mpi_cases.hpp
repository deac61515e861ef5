// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "contract/memory.hpp"

namespace contract {

// The contract cases on MPI. A case with fewer ranks than the launcher started runs on the first of them while the
// others idle; one with more is left to threads. Returns the same exit status on all ranks.
int run_mpi_cases(const char* name, const char* file, std::int32_t transport = TOKAVG_TRANSPORT_AUTO,
                  const MakeMemory& make_memory = host_memory);

}  // namespace contract
