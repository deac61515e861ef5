// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "transport/transport.hpp"

namespace tokavg {

std::unique_ptr<Transport> open_transport(const TransportOptions& options) {
  for (const TransportFactory* factory : transport_factories()) {
    if (factory->serves(options.comm_kind, options.transport)) return factory->open(options);
  }
  fail(TOKAVG_ERR_UNSUPPORTED,
       "config.comm_kind %d with config.transport %d is not a combination that this version knows; use "
       "TOKAVG_TRANSPORT_AUTO",
       options.comm_kind, options.transport);
}

std::string transport_names() {
  std::string names;
  for (const TransportFactory* factory : transport_factories()) {
    if (factory->describe != nullptr) names += (names.empty() ? "" : ",") + std::string(factory->name);
  }
  return names;
}

}  // namespace tokavg
