// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "bench/calls.hpp"
#include "bench/modes.hpp"
#include "bench/timing.hpp"

namespace tokavg_tool::bench {

struct Results {
  Options options;
  int ranks = 1;
  std::string mpi;
  AllSamples samples;
  CallCosts calls;

  /// How much longer the steps of a mode are than those of `off`, step by step, as a share.
  [[nodiscard]] Quartiles exposed(Mode mode) const;
  /// Median difference of the A/A pair, as a share of a step.
  [[nodiscard]] double aa_fraction() const;
  /// The machine is too noisy for a statement.
  [[nodiscard]] bool refused() const;
};

void print_refusal(const Results& results, std::ostream& out);
void print_table(const Results& results, std::ostream& out);
/// Where the run is refused: no modes and no calls, but "refused": true.
void write_json(const Results& results, const std::string& path);

}  // namespace tokavg_tool::bench
