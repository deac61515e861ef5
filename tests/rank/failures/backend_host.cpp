// SPDX-License-Identifier: Apache-2.0
#include "failures/backend.hpp"

namespace failures {

Backend backend() { return {contract::host_memory, TOKAVG_TRANSPORT_AUTO, true}; }

}  // namespace failures
