// SPDX-License-Identifier: Apache-2.0
#include "contract/case_run.hpp"

#include <algorithm>

#include "contract/cases.hpp"
#include "contract/compare.hpp"
#include "contract/report.hpp"

namespace contract {
namespace {

void run_case(const Case& the_case, Mode mode, const RunEverywhere& run_everywhere, Report& report) {
  std::vector<std::vector<std::string>> by_rank(static_cast<std::size_t>(the_case.ranks()));
  run_everywhere(the_case.ranks(), [&](Team& team) {
    by_rank[static_cast<std::size_t>(team.rank())] =
        compare(the_case, mode, team.rank(), run_rank(the_case, mode, team));
  });
  std::vector<std::string> lines;
  for (const auto& rank : by_rank) lines.insert(lines.end(), rank.begin(), rank.end());
  if (lines.empty()) {
    report.passed(the_case.id, mode);
  } else {
    report.failed(the_case.id, mode, lines);
  }
}

}  // namespace

int run_cases(const std::string& name, const std::string& file, const std::vector<std::string>& wanted, int most_ranks,
              const RunEverywhere& run_everywhere) {
  Report report(name);
  for (const Case& the_case : read_cases(file)) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), the_case.id) == wanted.end()) continue;
    if (the_case.ranks() > most_ranks && !the_case.self) {
      report.not_run(the_case.id, std::to_string(the_case.ranks()) + " ranks");
      continue;
    }
    for (const Mode mode : {Mode::kBefore, Mode::kAfter}) run_case(the_case, mode, run_everywhere, report);
  }
  return report.end();
}

}  // namespace contract
