// SPDX-License-Identifier: Apache-2.0
// What count + reduce cost through tokavg.hpp beyond plain C: medians of one run, in turns.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <tokavg/tokavg.hpp>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 400;
constexpr int kCalls = 50;

const std::array<std::int32_t, 64> kLabels{1, 2, -100, 3};

void in_c(tokavg_context_t* ctx) {
  tokavg_labels_t labels{};
  labels.struct_size = sizeof labels;
  labels.rows = 1;
  labels.cols = static_cast<std::int64_t>(kLabels.size());
  labels.labels.data = const_cast<std::int32_t*>(kLabels.data());
  labels.labels.dtype = TOKAVG_DTYPE_I32;
  tokavg_ticket_t ticket = 0;
  if (tokavg_count(ctx, &labels, nullptr) != TOKAVG_OK) std::abort();
  if (tokavg_reduce(ctx, nullptr, nullptr, &ticket) != TOKAVG_OK) std::abort();
}

void in_cpp(tokavg::Context& context) {
  context.count(tokavg::Labels::row_of(kLabels));
  context.reduce();
}

template <class Call>
double microseconds_of(Call call) {
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count() / kCalls;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

}  // namespace

int main() {
  tokavg::Context context(tokavg::self(), {.gradient = tokavg::Gradient::mean});
  std::vector<double> c;
  std::vector<double> cpp;
  for (int round = 0; round < kRounds; ++round) {
    c.push_back(microseconds_of([&] { in_c(context.get()); }));
    cpp.push_back(microseconds_of([&] { in_cpp(context); }));
  }
  const double more = median(cpp) - median(c);
  std::printf("count + reduce: C %.3f us, C++ %.3f us, %.3f us more\n", median(c), median(cpp), more);
  std::printf("goal (at most 0.5 us more) met: %s\n", more < 0.5 ? "yes" : "no");
}
