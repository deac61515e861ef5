// SPDX-License-Identifier: Apache-2.0
// The ranks of a run: threads of this process, or the processes of an MPI job.
#pragma once

#include <tokavg/tokavg.h>

#include <functional>
#include <span>

#include "common/mpi.hpp"

namespace tokavg_tool::demo {

/// One rank's view of all ranks: the trainer's own communication, as it would exist without tokavg.
class Team {
 public:
  virtual ~Team() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  /// All-reduce in place, in the order of the ranks: the same bits with threads and with any MPI.
  virtual void sum(std::span<double> values) = 0;
  /// Fills in how tokavg reaches the same ranks.
  virtual void fill(tokavg_config_t& config) const = 0;
};

using RankBody = std::function<void(Team&)>;

/// How one way of training is run on all ranks. Returns when this process' ranks have finished.
using RunOnRanks = std::function<void(const RankBody&)>;

/// Runs `body` on `ranks` threads; rethrows the first failure after all of them have ended.
void run_on_threads(int ranks, const RankBody& body);

/// Runs `body` as this process' rank of an MPI job.
void run_on_mpi(const Mpi& mpi, const RankBody& body);

/// Runs `body` on one rank alone.
void run_alone(const RankBody& body);

}  // namespace tokavg_tool::demo
