// SPDX-License-Identifier: Apache-2.0
// In place of onednn.cpp where oneDNN was not found.
#include "peer.hpp"

namespace tokavg::peers {

void add_onednn(const Problem&, Peers&, std::vector<std::string>& notes) {
  notes.emplace_back("onednn: skipped: libdnnl-dev was not installed when this was built");
}

std::string onednn_version() { return "not built"; }

}  // namespace tokavg::peers
