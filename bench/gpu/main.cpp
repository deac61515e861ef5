// SPDX-License-Identifier: Apache-2.0
// tokavg_bench_gpu [--quick|--tiny] [--json FILE] [GROUP...]: the time of each call with GPU memory, and of what no
// kernel can do without. GROUPs: count, cross_entropy, loss, scale, steps, host; all of them without one. --quick
// measures little,
// --tiny nothing: three rows, for sanitizers and emulators.
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/groups.hpp"
#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

struct Group {
  const char* name;
  void (*run)(const Plan& plan);
};
constexpr std::array<Group, 6> kGroups = {{{"count", run_count},
                                           {"cross_entropy", run_cross_entropy},
                                           {"loss", run_loss},
                                           {"scale", run_scale},
                                           {"steps", run_steps},
                                           {"host", run_host}}};

struct Options {
  Amount amount = Amount::kFull;
  std::string json;
  std::vector<std::string> groups;
};

[[noreturn]] void usage() {
  std::fputs("usage: tokavg_bench_gpu [--quick|--tiny] [--json FILE] [count|cross_entropy|loss|scale|steps|host]...\n",
             stderr);
  std::exit(2);
}

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto known = [&](const Group& group) { return word == group.name; };
    if (word == "--quick") {
      options.amount = Amount::kQuick;
    } else if (word == "--tiny") {
      options.amount = Amount::kTiny;
    } else if (word == "--json" && i + 1 < argc) {
      options.json = argv[++i];
    } else if (std::any_of(kGroups.begin(), kGroups.end(), known)) {
      options.groups.push_back(word);
    } else {
      usage();
    }
  }
  return options;
}

std::string about(const Plan& plan) {
  const nlohmann::json device = nlohmann::json::parse(plan.rank->describe())["device"];
  return nlohmann::json{{"amount", plan.choose("full", "quick", "tiny")},
                        {"rounds", plan.rounds()},
                        {"device", device},
                        {"tokavg_version", tokavg_version()}}
      .dump();
}

int run(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  Results results;
  const Stream stream;
  const Rank rank;
  const Plan plan{options.amount, &rank, &stream, &results};
  check_results(plan);
  for (const Group& group : kGroups) {
    const auto& wanted = options.groups;
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), group.name) != wanted.end()) {
      std::fprintf(stderr, "bench: %s\n", group.name);
      group.run(plan);
    }
  }
  results.print();
  if (!options.json.empty()) {
    results.write(options.json, about(plan));
  }
  return 0;
}

}  // namespace
}  // namespace tokavg_bench

int main(int argc, char** argv) { return tokavg_bench::run(argc, argv); }
