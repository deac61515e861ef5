// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "transport/nccl/host_sums.hpp"
#include "transport/transport.hpp"

namespace tokavg::nccl {

// A communicator that has worked on all ranks, and how this came about.
struct Opened {
  std::shared_ptr<HostSums> sums;
  const char* communicator;  // "lent", "split", "own"
  std::string bootstrap;     // what connected the ranks before, a JSON object; empty: nothing else
};

// Collective, bounded by options.timeout_ms.
Opened open_sums(const TransportOptions& options);

}  // namespace tokavg::nccl
