// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tokavg/transport_plugin.h"

namespace tokavg::mpi {

struct Plugin {
  tokavg_transport_open_t open;
  std::string file;
  std::shared_ptr<void> owner;
};

// The plugin for the MPI of this process. The one function that a build with MPI linked in would replace.
//
// plugin_path: a folder to look in before all others, or empty. Throws Error when there is no MPI, more than one, no
// plugin for it, or a plugin that belongs to another copy of it.
Plugin find_plugin(const std::string& plugin_path);

}  // namespace tokavg::mpi
