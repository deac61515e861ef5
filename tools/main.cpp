// SPDX-License-Identifier: Apache-2.0
// The `tokavg` command.
#include <tokavg/tokavg.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>

#include "bench/command.hpp"
#include "common/failure.hpp"
#include "common/launcher.hpp"
#include "demo/command.hpp"

namespace {

constexpr int kFailed = 1;
constexpr int kWrongArguments = 2;

/// Reads the arguments and runs the subcommand; exceptions that are not about the arguments come out.
int run(int argc, char** argv) {
  CLI::App app("Token averaging for data-parallel training, at work", "tokavg");
  app.set_version_flag("--version", tokavg_version());
  app.require_subcommand(1);
  std::function<int()> chosen;
  tokavg_tool::demo::add_command(app, chosen);
  tokavg_tool::bench::add_command(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version arrive here too.
    const int code = tokavg_tool::speaks_for_all() ? app.exit(error) : error.get_exit_code();
    return code == 0 ? 0 : kWrongArguments;
  }
  return chosen();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const tokavg_tool::UsageError& error) {
    if (tokavg_tool::speaks_for_all()) {
      std::fprintf(stderr, "tokavg: %s\n", error.what());
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tokavg: %s\n", error.what());
  } catch (...) {
    std::fputs("tokavg: an unknown exception\n", stderr);
  }
  return kFailed;
}
