// SPDX-License-Identifier: Apache-2.0
#include "kernels/self_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/calls.hpp"
#include "kernels/data.hpp"

namespace tokavg_bench {
namespace {

constexpr double kTolerance = 1e-6;  // far above the rounding of float, far below any fault

void expect_near(double got, double expected, const std::string& what) {
  if (!(std::fabs(got - expected) <= kTolerance * std::max(1.0, std::fabs(expected)))) {
    fail("check failed: " + what + " is " + std::to_string(got) + ", a plain loop gives " + std::to_string(expected));
  }
}

template <class Label>
void check_count(const char* what) {
  const Buffer data(4000);
  fill_labels(data, 1000);
  const auto n = static_cast<std::int64_t>(data.bytes() / sizeof(Label));
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    expected += data.as<Label>()[i] != -100 ? 1 : 0;
  }
  const Context context;
  context.count(labels_of(data.as<Label>(), 1, n));
  tokavg_result_t result{};
  result.struct_size = sizeof result;
  const tokavg_ticket_t ticket = context.reduce();
  if (tokavg_wait(context.get(), ticket, TOKAVG_WAIT_COUNT, -1, &result) != TOKAVG_OK) {
    fail("check failed: tokavg_wait");
  }
  expect_near(static_cast<double>(result.tokens[0]), static_cast<double>(expected), what);
}

void check_loss() {
  constexpr std::int64_t kLosses = 1000;
  const Buffer labels(static_cast<std::size_t>(kLosses) * sizeof(std::int64_t));
  fill_labels(labels, 1000);
  std::vector<float> losses(static_cast<std::size_t>(kLosses));
  Random random(7);
  double expected = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] = random.nearly_normal();
    expected += labels.as<std::int64_t>()[i] != -100 ? static_cast<double>(losses[i]) : 0.0;
  }
  double sum = 0;
  const tokavg_labels_t view = labels_of(labels.as<std::int64_t>(), 1, kLosses);
  tokavg_loss_t loss = token_losses_of(losses.data(), view);
  loss.sum_out = &sum;
  Context().loss(TOKAVG_OPEN, loss);
  expect_near(sum, expected, "the sum of losses");
}

// One row and its gradient in place.
void check_cross_entropy() {
  constexpr std::int64_t kVocab = 3000;
  const Buffer logits(static_cast<std::size_t>(kVocab) * sizeof(float));
  fill_logits(logits, Dtype::kF32);
  const std::array<std::int64_t, 1> label = {1234};
  std::vector<double> exps;
  double sum = 0;
  for (std::int64_t k = 0; k < kVocab; ++k) {
    exps.push_back(std::exp(static_cast<double>(logits.as<float>()[k])));
    sum += exps.back();
  }
  const double expected = std::log(sum) - static_cast<double>(logits.as<float>()[label[0]]);
  double loss = 0;
  const tokavg_labels_t view = labels_of(label.data(), 1, 1);
  tokavg_cross_entropy_t ce = cross_entropy_of(logits.data(), Dtype::kF32, kVocab, view);
  ce.sum_out = &loss;
  ce.gradient_out = ce.logits;
  Context().cross_entropy(TOKAVG_OPEN, ce);
  expect_near(loss, expected, "the loss of a row");
  for (std::int64_t k = 0; k < kVocab; ++k) {
    const double slope = exps[static_cast<std::size_t>(k)] / sum - (k == label[0] ? 1.0 : 0.0);
    expect_near(static_cast<double>(logits.as<float>()[k]), slope, "the gradient of a row");
  }
}

void check_yardsticks(const Yardsticks& yardsticks) {
  constexpr std::size_t kBytes = 8192;
  const Buffer data(kBytes);
  fill_logits(data, Dtype::kF32);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kBytes / sizeof(std::uint64_t); ++i) {
    sum += data.as<std::uint64_t>()[i];
  }
  if (yardsticks.read(data.data(), kBytes) != sum || yardsticks.read_streams(data.data(), kBytes) != sum) {
    fail("check failed: the read does not read everything");
  }
  const Buffer exps(kBytes);
  yardsticks.exp(data.as<float>(), exps.as<float>(), kBytes / sizeof(float));
  for (std::size_t i = 0; i < kBytes / sizeof(float); ++i) {
    const double expected = std::exp(static_cast<double>(data.as<float>()[i]));
    expect_near(static_cast<double>(exps.as<float>()[i]) / expected, 1, "the quotient of two exponentials");
  }
  yardsticks.read_write(data.data(), kBytes, 1);
  // Every word changes by 1 up or down: the lowest bits were as many ones as are zeros now.
  std::uint64_t ones = 0;
  for (std::size_t i = 0; i < kBytes / sizeof(std::uint64_t); ++i) {
    ones += data.as<std::uint64_t>()[i] & 1U;
  }
  if (yardsticks.read(data.data(), kBytes) != sum + 2 * ones - kBytes / sizeof(std::uint64_t)) {
    fail("check failed: the read and write does not write everything");
  }
}

}  // namespace

void check_results(const Yardsticks& yardsticks) {
  check_yardsticks(yardsticks);
  check_count<std::int32_t>("the count of 32-bit labels");
  check_count<std::int64_t>("the count of 64-bit labels");
  check_loss();
  check_cross_entropy();
}

}  // namespace tokavg_bench
