// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failures/play.hpp"

namespace failures {

// Scenarios that need MPI itself; nullptr: there is none of this name.
Scenario find_mpi_scenario(const std::string& name);

}  // namespace failures
