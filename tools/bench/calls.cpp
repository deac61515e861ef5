// SPDX-License-Identifier: Apache-2.0
#include "bench/calls.hpp"

#include <array>
#include <vector>

#include "bench/timing.hpp"

namespace tokavg_tool::bench {
namespace {

/// Far from the step numbers of the modes, which the same context has seen.
constexpr int64_t kFirstStep = int64_t{1} << 32;

double time_tokavg(const Context& context, int64_t step) {
  tokavg_ticket_t ticket = 0;
  const double seconds = seconds_of([&] {
    context.check(tokavg_count_add(context.get(), 0, 1, 0.0, 1), "tokavg_count_add");
    ticket = context.reduce(step);
  });
  context.factor(ticket);
  return seconds;
}

double time_iallreduce(const Mpi& mpi) {
  const std::array<int64_t, 2> counts = {1, 1};
  std::array<int64_t, 2> sums{};
  const double seconds = seconds_of([&] { mpi.start_sum_counts(counts, sums); });
  mpi.wait();
  return seconds;
}

}  // namespace

CallCosts time_calls(const Options& options, const Mpi& mpi, const Context& context, Progress& progress) {
  std::vector<double> tokavg;
  std::vector<double> iallreduce;
  progress.begin("calls", options.calls);
  for (int i = 0; i < options.calls; ++i) {
    // From a common start, as after the load of a batch; not one rank already waiting for the other.
    mpi.barrier();
    tokavg.push_back(time_tokavg(context, kFirstStep + i));
    mpi.barrier();
    iallreduce.push_back(time_iallreduce(mpi));
    progress.step(i + 1);
  }
  progress.end();
  std::array<double, 2> worst = {median(tokavg), median(iallreduce)};
  mpi.max(worst);
  return {worst[0] * 1e6, worst[1] * 1e6};
}

}  // namespace tokavg_tool::bench
