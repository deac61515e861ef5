// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tokavg/types.h"

namespace tokavg {

// The configuration with every default filled in and the environment applied.
struct Settings {
  tokavg_config_t config{};
  std::string plugin_path;
  std::string nccl_path;  // TOKAVG_NCCL_PATH: a libnccl for communicators of the library's own
  std::string simd;       // TOKAVG_SIMD: which vector instructions the host's kernels use
  std::int32_t log_level = TOKAVG_LOG_WARNING;
  std::vector<std::string> overridden;  // "timeout_ms=2000 (TOKAVG_TIMEOUT_MS)"
  std::optional<Error> wrong;           // a variable that could not be read
};

// Defaults and environment. Never throws for a bad value: this rank must still reach the others to tell them.
Settings make_settings(const tokavg_config_t& config);

// Everything that can be wrong with one rank's fields alone; throws Error CONFIG with field, value and remedy.
void check_settings(const Settings& settings);

}  // namespace tokavg
