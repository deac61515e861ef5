// SPDX-License-Identifier: Apache-2.0
// MPI, by way of a plugin that is compiled for the MPI in use: libtokavg itself depends on none.
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "build_options.hpp"
#include "transport/mpi/flavour.hpp"
#include "transport/mpi/loader.hpp"
#include "transport/table.hpp"
#include "transport/transport.hpp"

namespace tokavg::mpi {
namespace {

bool serves(std::int32_t comm_kind, std::int32_t transport) {
  return (comm_kind == TOKAVG_COMM_MPI || comm_kind == TOKAVG_COMM_MPI_FORTRAN) && transport == TOKAVG_TRANSPORT_AUTO;
}

std::unique_ptr<Transport> open(const TransportOptions& options) {
  if (options.comm_kind == TOKAVG_COMM_MPI && options.comm == nullptr) {
    fail(TOKAVG_ERR_CONFIG, "config.comm is NULL; with TOKAVG_COMM_MPI it is the address of an MPI_Comm");
  }
  Plugin plugin = find_plugin(options.plugin_path);
  tokavg_transport_options_t theirs{};
  theirs.struct_size = static_cast<std::uint32_t>(sizeof theirs);
  theirs.comm_kind = options.comm_kind;
  theirs.comm = options.comm;
  theirs.comm_fortran = options.comm_fortran;
  theirs.progress = options.progress;
  theirs.timeout_ms = options.timeout_ms;
  theirs.max_words = options.max_words;
  tokavg_transport_t table{};
  table.struct_size = static_cast<std::uint32_t>(sizeof table);  // how much room a plugin of another version has
  std::array<char, 2048> reason{};
  const tokavg_status_t status = plugin.open(&theirs, &table, reason.data(), reason.size() - 1);
  if (status != TOKAVG_OK) throw_table_status("mpi", "tokavg_transport_open", status, reason.data());
  return make_table_transport(read_table("the MPI plugin's table", &table),
                              {.name = "mpi", .file = plugin.file, .owner = plugin.owner, .is_ours = true});
}

// {"transport":"mpi","built_for":["openmpi","mpich"],"loaded":["libmpi.so.40"]}
std::string describe() {
  nlohmann::ordered_json facts = {{"transport", "mpi"}};
  facts["built_for"] = nlohmann::ordered_json::array();
  std::istringstream flavours(kBuildMpiFlavours);
  for (std::string flavour; std::getline(flavours, flavour, ',');) facts["built_for"].push_back(flavour);
  facts["loaded"] = nlohmann::ordered_json::array();
  for (const LoadedMpi& mpi : find_loaded_mpis()) facts["loaded"].push_back(mpi.soname);
  return facts.dump();
}

}  // namespace

extern const TransportFactory kFactory;
const TransportFactory kFactory = {"mpi", serves, open, describe};

}  // namespace tokavg::mpi
