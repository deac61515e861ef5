// SPDX-License-Identifier: Apache-2.0
// What the launcher (mpirun, mpiexec) tells its processes, before any MPI is loaded.
#pragma once

#include <optional>
#include <string>

namespace tokavg_tool {

struct Launcher {
  std::string flavour;  ///< "openmpi" or "mpich"
  int ranks = 1;
  int rank = 0;
};

/// The launcher that started this process.
/// @param flavour "auto": from the environment; "none": as if there were none; else the MPI to use
std::optional<Launcher> find_launcher(const std::string& flavour);

/// False on all but the first process of an MPI job: what every rank finds is said once.
bool speaks_for_all();

}  // namespace tokavg_tool
