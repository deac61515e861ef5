// SPDX-License-Identifier: Apache-2.0
// tokavg_bench_kernels [--quick] [--list-simd] [OPTIONS of google-benchmark...]: the time of each kernel, and of what
// no kernel can do without. TOKAVG_SIMD chooses the vector instructions of both.
#include <benchmark/benchmark.h>
#include <tokavg/tokavg.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "kernels/calls.hpp"
#include "kernels/groups.hpp"
#include "kernels/self_check.hpp"

namespace tokavg_bench {
namespace {

// Removes an option of ours; google-benchmark would refuse it.
bool take_option(int& argc, char** argv, std::string_view option) {
  char** const end = std::remove_if(argv + 1, argv + argc, [=](const char* arg) { return arg == option; });
  const bool found = end != argv + argc;
  argc = static_cast<int>(end - argv);
  return found;
}

// Those that the library uses; a library that obeys TOKAVG_SIMD in another way than we do must not be measured.
const Yardsticks& yardsticks_of_library() {
  const char* wanted = std::getenv("TOKAVG_SIMD");
  const Yardsticks* yardsticks = find_yardsticks(wanted == nullptr ? "" : wanted);
  if (yardsticks == nullptr) {
    fail(std::string("this processor does not have TOKAVG_SIMD=") + wanted);
  }
  const std::string simd = Context().simd();
  if (simd != yardsticks->simd) {
    fail("the library uses \"" + simd + "\", the yardsticks " + yardsticks->simd);
  }
  return *yardsticks;
}

void add_all(const Plan& plan) {
  add_count(plan);
  add_cross_entropy(plan);
  add_loss();
  add_scale(plan);
  add_threads(plan);
  add_tiny();
  add_accuracy(plan);
  add_vocabulary(plan);
  add_tokens();
  add_microbatches();
}

int run(int argc, char** argv) {
  if (take_option(argc, argv, "--list-simd")) {
    for (const std::string& name : simd_targets()) {
      std::puts(name.c_str());
    }
    return 0;
  }
  const bool quick = take_option(argc, argv, "--quick");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  const Plan plan{&yardsticks_of_library(), quick};
  check_results(*plan.yardsticks);
  add_all(plan);
  benchmark::AddCustomContext("simd", plan.yardsticks->simd);
  benchmark::AddCustomContext("tokavg_version", tokavg_version());
  benchmark::AddCustomContext("quick", quick ? "yes" : "no");
  if (benchmark::RunSpecifiedBenchmarks() == 0) {
    fail("no benchmark fits the filter");
  }
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace tokavg_bench

int main(int argc, char** argv) { return tokavg_bench::run(argc, argv); }
