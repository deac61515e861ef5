// SPDX-License-Identifier: Apache-2.0
// One training step in each of the modes that the bench compares.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "bench/options.hpp"
#include "common/context.hpp"
#include "common/mpi.hpp"
#include "common/progress.hpp"

namespace tokavg_tool::bench {

enum class Mode { kOffAlone, kIallreduce, kOff, kOffAgain, kBlocking, kTokavgPre, kTokavgPost };
inline constexpr std::size_t kModeCount = 7;

/// Before there is a context: its progress thread would move MPI_Iallreduce on, which nothing does in a program without
/// tokavg.
inline constexpr std::array kModesAlone = {Mode::kOffAlone, Mode::kIallreduce};
/// kOffAgain is the other half of the A/A pair: what differs between equal runs is noise.
inline constexpr std::array kModesBeside = {Mode::kOff, Mode::kOffAgain, Mode::kBlocking, Mode::kTokavgPre,
                                            Mode::kTokavgPost};

/// What the steps of a mode are compared with, step by step.
constexpr Mode baseline_of(Mode mode) { return mode <= Mode::kIallreduce ? Mode::kOffAlone : Mode::kOff; }

/// The name in tables and JSON.
std::string_view name_of(Mode mode);

/// One value a step.
struct Samples {
  std::vector<double> step_seconds;  ///< of the slowest rank
  std::vector<double> wait_seconds;  ///< inside calls that wait for the counts, of the worst rank
};
using AllSamples = std::map<Mode, Samples>;

/// Runs all steps of these modes and adds their samples; every rank gets the same. Every mode runs once in each step,
/// in random order and with the same jitter, so that a slow moment of the machine meets a step and not a mode.
/// @param context what the tokavg modes use; nullptr where there are none
void run_modes(const Options& options, const Mpi& mpi, const Context* context, std::span<const Mode> modes,
               AllSamples& samples, Progress& progress);

}  // namespace tokavg_tool::bench
