// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "failures/play.hpp"

namespace failures {

using MakeConfig = std::function<tokavg_config_t()>;

// Steps, on a context each, until the victim's `call` has no more allocations that could fail.
void sweep_call(Play& play, const std::string& call, const MakeConfig& make_config);

}  // namespace failures
