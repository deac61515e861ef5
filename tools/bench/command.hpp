// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace tokavg_tool::bench {

/// Adds `bench` to the command line. Where it was asked for, `chosen` receives what to run: it returns the exit code.
void add_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace tokavg_tool::bench
