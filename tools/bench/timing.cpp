// SPDX-License-Identifier: Apache-2.0
#include "bench/timing.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

namespace tokavg_tool::bench {
namespace {

/// Linear between the two neighbours.
double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - std::floor(at));
}

}  // namespace

void request_exact_sleep() { prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

void sleep_until(Clock::time_point deadline) { std::this_thread::sleep_until(deadline); }

Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_between(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

Quartiles quartiles(std::vector<double> values) {
  std::ranges::sort(values);
  return {quantile(values, 0.25), quantile(values, 0.5), quantile(values, 0.75)};
}

double median(const std::vector<double>& values) { return quartiles(values).median; }

}  // namespace tokavg_tool::bench
