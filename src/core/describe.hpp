// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tokavg {

// The library without a context, as one JSON object.
std::string describe_library();

}  // namespace tokavg
