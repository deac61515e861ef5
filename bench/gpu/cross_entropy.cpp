// SPDX-License-Identifier: Apache-2.0
#include "gpu/contest.hpp"
#include "gpu/problem.hpp"
#include "gpu/yardsticks.hpp"

namespace tokavg_bench {
namespace {

constexpr std::int64_t kVocabularies[] = {32000, 50257, 128256, 262144};
constexpr std::int64_t kVocabOfOptions = 128256;

// The gradient once with each option that costs arithmetic.
void add_options(const Problem& problem, const std::function<void()>& restore, Contest& contest) {
  const auto add = [&](const char* name, const tokavg_cross_entropy_t& options) {
    contest.add({std::string("cross_entropy/") + name + problem.end_of_name(), 2 * problem.bytes(), problem.elements(),
                 [&problem, options] { problem.gradient(options); }, restore});
  };
  tokavg_cross_entropy_t options{};
  options.label_smoothing = 0.1;
  add("gradient_smoothing", options);
  options = {};
  options.logit_softcap = 30;
  add("gradient_softcap", options);
}

void run_problem(const Plan& plan, Dtype dtype, std::int64_t vocab) {
  const Problem problem(plan, dtype, vocab);
  Contest contest(*plan.stream, *plan.results);
  const std::string end = problem.end_of_name();
  const std::size_t bytes = problem.bytes();
  const std::int64_t n = problem.elements();
  const std::function<void()> restore = [&] { problem.restore(); };
  contest.add({"cross_entropy/forward" + end, bytes, n, [&] { problem.forward(); }, {}});
  contest.add({"cross_entropy/read" + end,
               bytes,
               n,
               [&] { launch_read(problem.original().data(), bytes / 16 * 16, problem.read_sum(), plan.stream->get()); },
               {}});
  contest.add_twice({"cross_entropy/gradient" + end, 2 * bytes, n, [&] { problem.gradient(); }, restore});
  contest.add_twice({"cross_entropy/copy" + end, 2 * bytes, n, [&] { problem.copy(); }, restore});
  if (dtype == Dtype::kBf16) {
    contest.add({"cross_entropy/two_passes" + end, 4 * bytes, n, [&] { problem.two_passes(); }, restore});
  }
  if (dtype == Dtype::kBf16 && vocab == kVocabOfOptions) {
    contest.add({"cross_entropy/gradient_factor_1" + end, 2 * bytes, n, [&] { problem.open_gradient(); }, restore});
    add_options(problem, restore, contest);
  }
  contest.run(plan.rounds());
}

}  // namespace

void run_cross_entropy(const Plan& plan) {
  for (const Dtype dtype : {Dtype::kBf16, Dtype::kF32}) {
    for (const std::int64_t vocab : kVocabularies) {
      run_problem(plan, dtype, vocab);
    }
  }
}

}  // namespace tokavg_bench
