// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "common/progress.hpp"
#include "demo/ways.hpp"

namespace tokavg_tool::demo {

/// Trains from the same first weights in one of the ways; the curve is the same on every rank.
Curve train(Way way, const Setup& setup, Progress& progress);

}  // namespace tokavg_tool::demo
