// SPDX-License-Identifier: Apache-2.0
// runner self|threads|caller|caller-bare FILE [ID...]: the contract cases inside one process.
#include <algorithm>
#include <cstring>
#include <mutex>

#include "contract/cases.hpp"
#include "contract/compare.hpp"
#include "contract/report.hpp"
#include "contract/team.hpp"

using namespace contract;

namespace {

class SelfTeam final : public Team {
 public:
  explicit SelfTeam(int rank) : rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return 1; }
  void configure(tokavg_config_t& config) override { config.comm_kind = TOKAVG_COMM_SELF; }
  void sum(std::span<double>) override {}

 private:
  int rank_;
};

void run_everywhere(const std::string& transport, int ranks, const Body& body) {
  if (transport == "threads") return run_on_threads(ranks, body);
  if (transport != "self") return run_on_table(ranks, transport == "caller", body);
  for (int rank = 0; rank < ranks; ++rank) {
    SelfTeam team(rank);
    body(team);
  }
}

void run_case(const std::string& transport, const Case& the_case, Mode mode, Report& report) {
  std::vector<std::vector<std::string>> by_rank(static_cast<std::size_t>(the_case.ranks()));
  run_everywhere(transport, the_case.ranks(), [&](Team& team) {
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

int main(int argc, char** argv) {
  const std::vector<std::string> known = {"self", "threads", "caller", "caller-bare"};
  if (argc < 3 || std::find(known.begin(), known.end(), argv[1]) == known.end()) {
    std::fprintf(stderr, "usage: %s self|threads|caller|caller-bare FILE [ID...]\n", argv[0]);
    return 2;
  }
  const std::string transport = argv[1];
  const std::vector<std::string> wanted(argv + 3, argv + argc);
  Report report(transport);
  for (const Case& the_case : read_cases(argv[2])) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), the_case.id) == wanted.end()) continue;
    if (transport == "self" && the_case.ranks() > 1 && !the_case.self) {
      report.not_run(the_case.id, std::to_string(the_case.ranks()) + " ranks");
      continue;
    }
    for (const Mode mode : {Mode::kBefore, Mode::kAfter}) run_case(transport, the_case, mode, report);
  }
  return report.end();
}
