// SPDX-License-Identifier: Apache-2.0
// One training step in each of the modes that the bench compares.
#pragma once

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "bench/options.hpp"
#include "common/context.hpp"
#include "common/mpi.hpp"
#include "common/progress.hpp"

namespace tokavg_tool::bench {

enum class Mode { kOff, kOffAgain, kBlocking, kIallreduce, kTokavgPre, kTokavgPost };

/// kOffAgain is the other half of the A/A pair: what differs between equal runs is noise.
inline constexpr std::array kModes = {Mode::kOff,        Mode::kOffAgain,  Mode::kBlocking,
                                      Mode::kIallreduce, Mode::kTokavgPre, Mode::kTokavgPost};

/// The name in tables and JSON.
std::string_view name_of(Mode mode);

/// One value a step.
struct Samples {
  std::vector<double> step_seconds;  ///< of the slowest rank
  std::vector<double> wait_seconds;  ///< inside calls that wait for the counts, of the worst rank
};
using AllSamples = std::map<Mode, Samples>;

/// Runs all steps; every rank gets the same samples. Every mode runs once in each step, in random order and with the
/// same jitter, so that a slow moment of the machine meets a step and not a mode.
AllSamples run_modes(const Options& options, const Mpi& mpi, const Context& context, Progress& progress);

}  // namespace tokavg_tool::bench
