// SPDX-License-Identifier: Apache-2.0
#include "common/launcher.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace tokavg_tool {
namespace {

std::optional<int> number_from(const char* variable) {
  const char* text = std::getenv(variable);
  int value = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), value).ec != std::errc{}) {
    return std::nullopt;
  }
  return value;
}

std::optional<Launcher> from_environment(const char* flavour, const char* ranks, const char* rank) {
  const std::optional<int> n_ranks = number_from(ranks);
  const std::optional<int> own = number_from(rank);
  if (!n_ranks || !own) {
    return std::nullopt;
  }
  return Launcher{flavour, *n_ranks, *own};
}

/// Open MPI first: some of its launchers set PMI variables too.
std::optional<Launcher> ask_environment() {
  if (auto found = from_environment("openmpi", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")) {
    return found;
  }
  return from_environment("mpich", "PMI_SIZE", "PMI_RANK");
}

}  // namespace

std::optional<Launcher> find_launcher(const std::string& flavour) {
  if (flavour == "none") {
    return std::nullopt;
  }
  std::optional<Launcher> found = ask_environment();
  if (flavour != "auto") {
    if (!found) {
      found = Launcher{};
    }
    found->flavour = flavour;
  }
  return found;
}

bool speaks_for_all() {
  const std::optional<Launcher> launcher = ask_environment();
  return !launcher || launcher->rank == 0;
}

}  // namespace tokavg_tool
