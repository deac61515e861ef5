// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "contract/cases.hpp"
#include "contract/team.hpp"

namespace contract {

enum class Mode { kBefore, kAfter };  // is the loss scaled, or the reduced gradient?

inline const char* mode_name(Mode mode) { return mode == Mode::kBefore ? "before" : "after"; }

// What one rank got out of one step.
struct StepRecord {
  tokavg_status_t status = TOKAVG_OK;  // of tokavg_wait
  tokavg_result_t result{};
  std::vector<double> factor;  // by term, from tokavg_factor
  std::vector<double> report;  // kind REPORT
  double microbatch_factor = 0;
  std::vector<double> backward;  // by term: backward_out, summed in double
  std::vector<double> sums;      // by term: sum_out
  std::vector<double> scaled;    // by term: what tokavg_scale made of 3.0 in double (mode kAfter)
  std::vector<float> scaled_float;
  bool waited_for_losses = false;
};

struct RankRecord {
  std::vector<StepRecord> steps;
  std::vector<std::string> faults;  // calls that should have succeeded
};

// Plays the part of team.rank() in the case.
RankRecord run_rank(const Case& the_case, Mode mode, Team& team);

}  // namespace contract
