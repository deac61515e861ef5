// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tokavg_tool::bench {

/// The command line of `tokavg bench`.
struct Options {
  int steps = 60;
  double forward_ms = 8.0;
  double backward_ms = 16.0;
  double jitter = 0.2;      ///< each rank computes up to this share longer or shorter
  int gradient = 1 << 14;   ///< doubles in the gradient all-reduce
  int calls = 2000;         ///< repetitions of each timed call
  double aa_limit = 0.003;  ///< no report where two equal runs differ by more
  std::string json;
  std::string mpi = "auto";
  bool quiet = false;
};

}  // namespace tokavg_tool::bench
