// SPDX-License-Identifier: Apache-2.0
// Clocks and order statistics.
#pragma once

#include <chrono>
#include <vector>

namespace tokavg_tool::bench {

using Clock = std::chrono::steady_clock;

/// Lets this process wake up on time: by default Linux may be 50 us late with every sleep.
void request_exact_sleep();

/// Computes nothing until the deadline. A trainer whose work runs on a GPU leaves the host idle like this.
void sleep_until(Clock::time_point deadline);

Clock::time_point after(Clock::time_point begin, double seconds);
double seconds_between(Clock::time_point begin, Clock::time_point end);

/// Runs `call` and returns how long it took.
template <class Call>
double seconds_of(Call call) {
  const Clock::time_point begin = Clock::now();
  call();
  return seconds_between(begin, Clock::now());
}

struct Quartiles {
  double lower;
  double median;
  double upper;
};

/// Of at least one value.
Quartiles quartiles(std::vector<double> values);
double median(const std::vector<double>& values);

}  // namespace tokavg_tool::bench
