// SPDX-License-Identifier: Apache-2.0
#include "bench/command.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "bench/report.hpp"
#include "common/failure.hpp"
#include "common/launcher.hpp"

namespace tokavg_tool::bench {
namespace {

constexpr int kRefused = 3;

int report(const Results& results, bool speaks) {
  const bool refused = results.refused();
  if (speaks) {
    if (refused) {
      print_refusal(results, std::cerr);
    } else if (!results.options.quiet) {
      print_table(results, std::cout);
    }
    if (!results.options.json.empty()) {
      write_json(results, results.options.json);
    }
  }
  return refused ? kRefused : 0;
}

int run_ranks(const Options& options, const Mpi& mpi) {
  if (mpi.ranks() < 2) {
    throw UsageError("the bench needs 2 ranks or more; is it another MPI's mpiexec? See --mpi");
  }
  tokavg_config_t config = default_config();
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = mpi.communicator();
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  const bool speaks = mpi.rank() == 0;
  Progress progress(speaks && !options.quiet);
  Results results{options, mpi.ranks(), mpi.flavour(), {}, {}};
  run_modes(options, mpi, nullptr, kModesAlone, results.samples, progress);
  const Context context(config);
  run_modes(options, mpi, &context, kModesBeside, results.samples, progress);
  if (!results.refused()) {
    results.calls = time_calls(options, mpi, context, progress);
  }
  context.finalize();
  return report(results, speaks);
}

int run(const Options& options) {
  const std::optional<Launcher> launcher = find_launcher(options.mpi);
  if (!launcher || launcher->ranks < 2) {
    throw UsageError("the bench needs 2 ranks or more: mpiexec -n 4 tokavg bench");
  }
  return run_mpi(launcher->flavour, [&](const Mpi& mpi) { return run_ranks(options, mpi); });
}

void add_options(CLI::App& command, Options& options) {
  command.add_option("--steps", options.steps, "Steps of each mode")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_option("--forward-ms", options.forward_ms, "Time of a forward pass")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command.add_option("--backward-ms", options.backward_ms, "Time of a backward pass")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command.add_option("--jitter", options.jitter, "Ranks take up to this share longer or shorter")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--gradient", options.gradient, "Doubles in the gradient all-reduce")
      ->check(CLI::Range(1, 1 << 28))
      ->capture_default_str();
  command.add_option("--calls", options.calls, "Repetitions of each timed call")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      .add_option("--aa-limit", options.aa_limit, "No report where two equal runs differ by a larger share of a step")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  command.add_option("--json", options.json, "Writes the results to this file");
  command.add_option("--mpi", options.mpi, "Which MPI started us: auto, openmpi or mpich")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich"}))
      ->capture_default_str();
  command.add_flag("--quiet", options.quiet, "No progress and no table");
}

}  // namespace

void add_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App* command =
      app.add_subcommand("bench", "Measures, under mpiexec, how much of a step the reduction of the counts exposes");
  const auto options = std::make_shared<Options>();
  add_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tokavg_tool::bench
