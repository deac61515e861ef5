// SPDX-License-Identifier: Apache-2.0
// A framework that owns its communication lends a table of functions.
#include "transport/transport.hpp"
#include "base/error.hpp"
#include "transport/table.hpp"

namespace tokavg::caller {
namespace {

bool serves(std::int32_t comm_kind, std::int32_t transport) {
  return comm_kind == TOKAVG_COMM_CALLER && transport == TOKAVG_TRANSPORT_AUTO;
}

std::unique_ptr<Transport> open(const TransportOptions& options) {
  if (options.comm == nullptr) {
    fail(TOKAVG_ERR_CONFIG, "config.comm is NULL; with TOKAVG_COMM_CALLER it is a const tokavg_transport_t*");
  }
  const tokavg_transport_t table = read_table("config.comm", static_cast<const tokavg_transport_t*>(options.comm));
  if (options.progress == TOKAVG_PROGRESS_THREAD && (table.capabilities & TOKAVG_TRANSPORT_CAN_PROGRESS) == 0) {
    fail(TOKAVG_ERR_UNSUPPORTED,
         "config.progress is TOKAVG_PROGRESS_THREAD, but config.comm lacks TOKAVG_TRANSPORT_CAN_PROGRESS: its sums "
         "advance only inside tokavg calls; use TOKAVG_PROGRESS_AUTO");
  }
  return make_table_transport(table, {.name = "caller", .file = {}, .owner = nullptr, .is_ours = false});
}

std::string describe() { return R"({"transport":"caller"})"; }

}  // namespace

extern const TransportFactory kFactory;
const TransportFactory kFactory = {"caller", serves, open, describe};

}  // namespace tokavg::caller
