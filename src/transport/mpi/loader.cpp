// SPDX-License-Identifier: Apache-2.0
#include "transport/mpi/loader.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/dynlib.hpp"
#include "base/error.hpp"
#include "build_options.hpp"
#include "transport/mpi/flavour.hpp"

namespace tokavg::mpi {
namespace {

const char kHere = 0;  // its address is in the library that holds this code

// Absolute paths alone: the current directory is whoever's the job was started by.
std::vector<std::string> folders_to_search(const std::string& plugin_path) {
  if (!plugin_path.empty() && !plugin_path.starts_with('/')) {
    fail(TOKAVG_ERR_CONFIG, "TOKAVG_PLUGIN_PATH is \"%s\"; it has to be an absolute path", plugin_path.c_str());
  }
  std::vector<std::string> folders;
  const auto add = [&folders](const std::string& folder) {
    const bool is_new = std::find(folders.begin(), folders.end(), folder) == folders.end();
    if (folder.starts_with('/') && is_new) folders.push_back(folder);
  };
  const std::string own = folder_of_file(file_of_address(&kHere));
  add(plugin_path);
  add(own);
  if (!own.empty()) add(own + "/tokavg");
  add(kBuildPluginDir);
  return folders;
}

[[noreturn]] void fail_not_found(const Flavour& flavour, const std::vector<std::string>& folders) {
  std::string list;
  for (const std::string& folder : folders) list += (list.empty() ? "" : ", ") + folder;
  fail(
      TOKAVG_ERR_NOT_BUILT,
      "this process uses %s, but libtokavg_mpi_%s.so is not in %s; build tokavg with -DTOKAVG_MPI=ON where mpicc.%s is "
      "found, install the package that holds this plugin, or set TOKAVG_PLUGIN_PATH to its folder",
      flavour.title, flavour.name, list.c_str(), flavour.name);
}

// Once in a process: a second copy of the plugin would have a second progress thread.
Dynlib load(const Flavour& flavour, const std::string& plugin_path) {
  const std::string name = std::string("libtokavg_mpi_") + flavour.name + ".so";
  const std::string loaded = loaded_file_named(name);
  if (!loaded.empty()) return Dynlib::load_for_good(loaded, TOKAVG_ERR_TRANSPORT);
  const std::vector<std::string> folders = folders_to_search(plugin_path);
  for (const std::string& folder : folders) {
    std::string file = folder;
    file.append("/").append(name);
    if (access(file.c_str(), F_OK) == 0) return Dynlib::load_for_good(file, TOKAVG_ERR_TRANSPORT);
  }
  fail_not_found(flavour, folders);
}

// A plugin that was linked with another copy of the same flavour has just brought that copy into the process; the
// caller's communicator means nothing to it.
void check_same_mpi(const Dynlib& plugin, const LoadedMpi& mpi, const std::string& file) {
  constexpr char kAny[] = "MPI_Get_library_version";
  if (plugin.symbol(kAny) == mpi.library.symbol(kAny)) return;
  fail(TOKAVG_ERR_TRANSPORT,
       "%s was built for another %s than the one in this process (%s); build it with the mpicc of the program",
       file.c_str(), mpi.flavour->title, file_of_address(mpi.library.symbol(kAny)).c_str());
}

}  // namespace

Plugin find_plugin(const std::string& plugin_path) {
  const LoadedMpi mpi = the_loaded_mpi();
  const Dynlib library = load(*mpi.flavour, plugin_path);
  void* open = library.symbol("tokavg_transport_open");
  if (open == nullptr) {
    fail(TOKAVG_ERR_TRANSPORT, "libtokavg_mpi_%s.so has no tokavg_transport_open; it is not a plugin of tokavg",
         mpi.flavour->name);
  }
  const std::string file = file_of_address(open);
  check_same_mpi(library, mpi, file);
  return {reinterpret_cast<tokavg_transport_open_t>(open), file, library.owner()};
}

}  // namespace tokavg::mpi
