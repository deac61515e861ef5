// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tokavg_tool::demo {

/// The command line of `tokavg demo`.
struct Options {
  std::string text = "/usr/share/common-licenses/GPL-3";
  int ranks = 0;  ///< 0: as many as the launcher started, else 4
  int accumulation = 4;
  int microbatches = 2;
  int lines = 64;  ///< of a step, over all ranks: the same data for any number of ranks
  int steps = 100;
  int embedding = 8;
  int hidden = 32;
  double learning_rate = 0.5;
  uint64_t seed = 1;
  bool sum_gradients = false;           ///< the trainer sums gradients over ranks instead of averaging them
  bool undivided_accumulation = false;  ///< the trainer does not divide by the accumulation steps
  std::string json;
  std::string plot;
  std::string mpi = "auto";
  bool quiet = false;

  /// A of the contract: by what the trainer itself divides.
  [[nodiscard]] double accumulation_divisor() const {
    return undivided_accumulation ? 1.0 : static_cast<double>(accumulation);
  }
  /// Microbatches that one rank takes in one step.
  [[nodiscard]] int window() const { return accumulation * microbatches; }
};

}  // namespace tokavg_tool::demo
