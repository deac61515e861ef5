// SPDX-License-Identifier: Apache-2.0
#include "demo/command.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "common/failure.hpp"
#include "common/launcher.hpp"
#include "common/mpi.hpp"
#include "demo/plot.hpp"
#include "demo/report.hpp"
#include "demo/train.hpp"

namespace tokavg_tool::demo {
namespace {

/// Where the ranks are, once it is known whether MPI carries them.
struct Place {
  std::string name;
  bool speaks;  ///< this process trains the one-process run and reports
  RunOnRanks run;
  std::function<void()> meet;  ///< leaves the cores to the one-process run
};

/// All four ways, one after another. Threads share the curves: rank 0 of a process writes them.
Outcome compare(const Options& options, const Text& text, const Place& place) {
  Outcome outcome{options, place.name, {}};
  const Batches batches{text, options.lines, options.window()};
  for (const Way way : kWays) {
    const RankBody body = [&](Team& team) {
      const bool first = team.rank() == 0;
      Progress progress(first && place.speaks && !options.quiet);
      Curve curve = train(way, Setup{options, batches, team}, progress);
      if (first) {
        outcome.curves[way] = std::move(curve);
      }
    };
    if (way != Way::kOneProcess) {
      place.run(body);
      continue;
    }
    if (place.speaks) {
      run_alone(body);
    }
    place.meet();
  }
  return outcome;
}

void report(const Outcome& outcome) {
  const Options& options = outcome.options;
  if (!options.quiet) {
    print_table(outcome, std::cout);
  }
  if (!options.json.empty()) {
    write_json(outcome, options.json);
  }
  if (!options.plot.empty()) {
    const std::string remark = write_plot(outcome, options.plot);
    if (!remark.empty()) {
      std::cerr << "tokavg: " << remark << std::endl;
    }
  }
}

/// Every microbatch needs a line: the mean of an empty one is 0/0 in the way without tokavg.
void check_lines(const Options& options) {
  const int parts = options.ranks * options.window();
  if (options.lines < parts) {
    throw UsageError(std::to_string(options.lines) + " lines a step are too few for " + std::to_string(options.ranks) +
                     " ranks x " + std::to_string(options.window()) + " microbatches; say --lines " +
                     std::to_string(parts) + " or more");
  }
}

int run_with_threads(const Options& options, const Text& text) {
  const Place place{"threads", true, [&](const RankBody& body) { run_on_threads(options.ranks, body); }, [] {}};
  report(compare(options, text, place));
  return 0;
}

int run_with_mpi(const Options& options, const Text& text, const std::string& flavour) {
  return run_mpi(flavour, [&](const Mpi& mpi) {
    if (mpi.ranks() != options.ranks) {
      throw UsageError("this job has " + std::to_string(mpi.ranks()) + " " + flavour + " processes, not " +
                       std::to_string(options.ranks) + "; is it another MPI's mpiexec? See --mpi");
    }
    const Place place{flavour + " processes", mpi.rank() == 0, [&](const RankBody& body) { run_on_mpi(mpi, body); },
                      [&] { mpi.sleeping_barrier(); }};
    const Outcome outcome = compare(options, text, place);
    if (place.speaks) {
      report(outcome);
    }
    return 0;
  });
}

int run(Options options) {
  const std::optional<Launcher> launcher = find_launcher(options.mpi);
  // One process that is asked for several ranks runs them as threads, under a launcher too.
  const bool mpi = launcher && (launcher->ranks > 1 || options.ranks <= 1);
  if (mpi && options.ranks != 0 && options.ranks != launcher->ranks) {
    throw UsageError("--ranks " + std::to_string(options.ranks) + ", but the launcher started " +
                     std::to_string(launcher->ranks) +
                     " processes; leave --ranks out, or say --mpi none and use one process");
  }
  if (options.ranks == 0) {
    options.ranks = mpi ? launcher->ranks : 4;
  }
  check_lines(options);
  const Text text = Text::read(options.text);
  return mpi ? run_with_mpi(options, text, launcher->flavour) : run_with_threads(options, text);
}

void add_options(CLI::App& command, Options& options) {
  const CLI::Range positive(1, 1 << 20);
  command.add_option("--text", options.text, "The text to learn; a line is a sample")->capture_default_str();
  command
      .add_option("--ranks", options.ranks,
                  "Ranks: threads, or the processes of mpiexec (default: 4, or those processes)")
      ->check(CLI::Range(1, 1024));
  command.add_option("--accumulation", options.accumulation, "Accumulation steps in a step")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--microbatches", options.microbatches, "Microbatches in an accumulation step")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--lines", options.lines, "Lines in a step, over all ranks")
      ->check(positive)
      ->capture_default_str();
  command.add_option("--steps", options.steps, "Optimiser steps")->check(positive)->capture_default_str();
  command.add_option("--embedding", options.embedding, "Values for each of the last 8 bytes")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--hidden", options.hidden, "Hidden units")->check(CLI::Range(1, 4096))->capture_default_str();
  command.add_option("--lr", options.learning_rate, "Learning rate")->check(CLI::PositiveNumber)->capture_default_str();
  command.add_option("--seed", options.seed, "Seed of the first weights")->capture_default_str();
  command.add_flag("--sum-gradients", options.sum_gradients,
                   "The trainer sums gradients over ranks; default: it averages them");
  command.add_flag("--undivided-accumulation", options.undivided_accumulation,
                   "The trainer does not divide by the accumulation steps; default: it does");
  command.add_option("--json", options.json, "Writes the results to this file");
  command.add_option("--plot", options.plot, "Draws the curves to this SVG file");
  command.add_option("--mpi", options.mpi, "Which MPI started us: auto, openmpi, mpich or none")
      ->check(CLI::IsMember({"auto", "openmpi", "mpich", "none"}))
      ->capture_default_str();
  command.add_flag("--quiet", options.quiet, "No progress and no table");
}

}  // namespace

void add_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App* command =
      app.add_subcommand("demo", "Trains a small language model four ways and compares them with one process");
  const auto options = std::make_shared<Options>();
  add_options(*command, *options);
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace tokavg_tool::demo
