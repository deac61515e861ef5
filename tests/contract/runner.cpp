// SPDX-License-Identifier: Apache-2.0
// runner self|threads|caller|caller-bare FILE [ID...]: the contract cases inside one process.
#include <algorithm>
#include <climits>
#include <cstdio>

#include "contract/case_run.hpp"

using namespace contract;

namespace {

void run_everywhere(const std::string& transport, int ranks, const Body& body) {
  if (transport == "self") return run_on_self(ranks, body);
  if (transport == "threads") return run_on_threads(ranks, body);
  run_on_table(ranks, transport == "caller", body);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> known = {"self", "threads", "caller", "caller-bare"};
  if (argc < 3 || std::find(known.begin(), known.end(), argv[1]) == known.end()) {
    std::fprintf(stderr, "usage: %s self|threads|caller|caller-bare FILE [ID...]\n", argv[0]);
    return 2;
  }
  const std::string transport = argv[1];
  return run_cases(transport, argv[2], {argv + 3, argv + argc}, transport == "self" ? 1 : INT_MAX,
                   [&](int ranks, const Body& body) { run_everywhere(transport, ranks, body); });
}
