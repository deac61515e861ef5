// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "contract/team.hpp"

namespace failures {

// What carries the sums of this program's ranks: backend_host.cpp, or backend_nccl.cpp.
struct Backend {
  contract::MakeMemory make_memory;
  std::int32_t transport;
  bool names_ranks;  // can it tell who is missing?
};

Backend backend();

}  // namespace failures
