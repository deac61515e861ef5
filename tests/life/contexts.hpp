// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/team.hpp"

namespace life {

enum class Ranks { kThreads, kProcesses };

// `contexts` of them, one after the other, that end by finalize and free, by free alone, or refused half made; as
// threads also freed with a sum in flight (MPI keeps the communicator then: messages for it may still be on their way).
// True when all did as they should, and the process holds no more than after the first few.
bool live_and_die(contract::Team& team, int contexts, Ranks ranks);

}  // namespace life
