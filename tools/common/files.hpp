// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tokavg_tool {

/// Writes a whole file; a Failure names the path and the cause.
void write_file(const std::string& path, const std::string& content);

/// Where a program is on PATH; empty if it is not.
std::string find_program(const std::string& name);

}  // namespace tokavg_tool
