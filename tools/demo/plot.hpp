// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "demo/report.hpp"

namespace tokavg_tool::demo {

/// Draws the loss curves and their differences from one process as SVG, with gnuplot.
/// @return an empty text, or one line that says why there is no drawing
std::string write_plot(const Outcome& outcome, const std::string& path);

}  // namespace tokavg_tool::demo
