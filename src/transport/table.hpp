// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tokavg/transport_plugin.h"
#include "transport/transport.hpp"

namespace tokavg {

// Where a table comes from.
struct TableSource {
  const char* name;             // "caller", "mpi"
  std::string file;             // of the plugin, or empty
  std::shared_ptr<void> owner;  // keeps the table's code loaded until after close
  // A plugin of ours answers late_ranks and describe after an error too, where to other tables a request is gone; and
  // its close ends all sums without a call that is bound to a thread.
  bool is_ours;
};

// Copies a table whose struct_size may be another version's and checks it. `argument` names it in texts.
tokavg_transport_t read_table(const char* argument, const tokavg_transport_t* table);

// Takes the table over: close is called exactly once.
std::unique_ptr<Transport> make_table_transport(const tokavg_transport_t& table, TableSource source);

// Throws what a negative or unexpected status means. details: what the table says about it, or empty.
[[noreturn]] void throw_table_status(const char* name, const char* function, tokavg_status_t status,
                                     const std::string& details);

}  // namespace tokavg
