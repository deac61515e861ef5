// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tokavg/types.h"

namespace fuzz {

using Environment = std::map<std::string, std::string>;

// What the header says about the variables and fields, once more and written differently.
struct Expected {
  tokavg_config_t config{};
  bool environment_is_wrong = false;
  std::size_t overridden = 0;
  bool config_is_wrong = false;  // whatever the other ranks say
};

Expected expected(const tokavg_config_t& given, const Environment& environment);

}  // namespace fuzz
