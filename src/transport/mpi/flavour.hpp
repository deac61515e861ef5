// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/dynlib.hpp"

namespace tokavg::mpi {

// MPI libraries with the same binary interface. A plugin of the wrong flavour crashes in its first MPI call.
struct Flavour {
  const char* name;   // as in libtokavg_mpi_<name>.so
  const char* title;  // as people say
};

// An MPI that the process has loaded, in whatever way.
struct LoadedMpi {
  const Flavour* flavour;
  const char* soname;
  Dynlib library;
};

// At most one a flavour; never loads anything.
std::vector<LoadedMpi> find_loaded_mpis();

// The one MPI of this process, or Error with what is wrong.
LoadedMpi the_loaded_mpi();

}  // namespace tokavg::mpi
