// SPDX-License-Identifier: Apache-2.0
// What the demo says: a table for people, JSON for machines.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "demo/options.hpp"
#include "demo/ways.hpp"

namespace tokavg_tool::demo {

/// How far a curve is from the one-process run: loss in nats, gradient norm relative.
struct Difference {
  std::vector<double> losses;  ///< of each step
  double max_loss = 0.0;
  double max_gradient_norm = 0.0;
};

struct Outcome {
  Options options;    ///< with the number of ranks that really ran
  std::string ranks;  ///< what a rank was: "threads", "Open MPI processes", ...
  std::map<Way, Curve> curves;

  [[nodiscard]] Difference difference(Way way) const;
  /// Share of the step time that ranks spent waiting for tokavg.
  [[nodiscard]] double exposed_fraction(Way way) const;
  /// The larger of both tokavg ways.
  [[nodiscard]] double exposed_fraction() const;
};

/// All bits of a number, as C's %a writes them.
std::string hexadecimal(double value);

void print_table(const Outcome& outcome, std::ostream& out);
nlohmann::json to_json(const Outcome& outcome);
void write_json(const Outcome& outcome, const std::string& path);

}  // namespace tokavg_tool::demo
