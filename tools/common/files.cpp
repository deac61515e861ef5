// SPDX-License-Identifier: Apache-2.0
#include "common/files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "common/failure.hpp"

namespace tokavg_tool {

void write_file(const std::string& path, const std::string& content) {
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) {
    throw Failure("cannot write '" + path + "': " + std::strerror(errno));
  }
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string file = (folder.empty() ? "." : folder) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) {
      return file;
    }
  }
  return {};
}

}  // namespace tokavg_tool
