// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "gpu/groups.hpp"
#include "gpu/yardsticks.hpp"
#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

constexpr double kTolerance = 1e-6;  // far above the rounding of float, far below any fault

void expect_near(double got, double expected, const std::string& what) {
  if (!(std::fabs(got - expected) <= kTolerance * std::max(1.0, std::fabs(expected)))) {
    fail("check failed: " + what + " is " + std::to_string(got) + ", a plain loop gives " + std::to_string(expected));
  }
}

void check_read(const Plan& plan) {
  constexpr std::size_t kWords = 100004;  // no multiple of what the blocks read at once
  const Buffer data(kWords * sizeof(std::uint32_t));
  fill_logits(data, Dtype::kF32);
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < kWords; ++i) {
    expected += data.as<std::uint32_t>()[i];
  }
  const DeviceBuffer on_gpu(data, data.bytes(), *plan.stream);
  const DeviceBuffer sum(Buffer(sizeof expected), sizeof expected, *plan.stream);
  launch_read(on_gpu.data(), on_gpu.bytes(), sum.as<std::uint32_t>(), plan.stream->get());
  std::uint32_t got = 0;
  sum.read(&got, sizeof got, *plan.stream);
  if (got != expected) {
    fail("check failed: the read does not read everything once");
  }
}

// The step of `labels`, and whether as many of them were counted as are not -100.
tokavg_ticket_t check_count(const Plan& plan, const std::vector<std::int64_t>& labels, const tokavg_labels_t& view) {
  double expected = 0;
  for (const std::int64_t label : labels) {
    expected += label != -100 ? 1 : 0;
  }
  plan.rank->count(view, *plan.stream);
  const tokavg_ticket_t ticket = plan.rank->reduce(*plan.stream);
  expect_near(static_cast<double>(plan.rank->result(ticket).tokens[0]), expected, "the count");
  return ticket;
}

constexpr std::size_t kVocab = 3000;

// One row against its loss, and against its gradient with the factor 1/2.
void check_row(const float* x, std::int64_t label, float loss, const float* gradient) {
  const bool scored = label != -100;
  double sum = 0;
  for (std::size_t k = 0; k < kVocab; ++k) {
    sum += std::exp(static_cast<double>(x[k]));
  }
  expect_near(static_cast<double>(loss), scored ? std::log(sum) - static_cast<double>(x[label]) : 0.0, "a loss");
  for (std::size_t k = 0; k < kVocab; ++k) {
    const double p = std::exp(static_cast<double>(x[k])) / sum;
    const double slope = p - (static_cast<std::int64_t>(k) == label ? 1 : 0);
    expect_near(static_cast<double>(gradient[k]), scored ? slope / 2 : 0.0, "a gradient");
  }
}

// Two rows of three are scored; the gradient in place.
void check_cross_entropy(const Plan& plan) {
  const std::vector<std::int64_t> labels = {1234, -100, 77};
  const Buffer logits(labels.size() * kVocab * sizeof(float));
  fill_logits(logits, Dtype::kF32);
  const Buffer label_bytes(labels.size() * sizeof(std::int64_t));
  std::copy(labels.begin(), labels.end(), label_bytes.as<std::int64_t>());
  const DeviceBuffer on_gpu(logits, logits.bytes(), *plan.stream);
  const DeviceBuffer labels_there(label_bytes, label_bytes.bytes(), *plan.stream);
  const DeviceBuffer losses(labels.size() * sizeof(float));
  const auto rows = static_cast<std::int64_t>(labels.size());
  const tokavg_labels_t view = labels_on_gpu(labels_there, TOKAVG_DTYPE_I64, rows, 1);
  const tokavg_ticket_t ticket = check_count(plan, labels, view);
  tokavg_cross_entropy_t ce = cross_entropy_of(on_gpu.data(), Dtype::kF32, kVocab, view);
  ce.gradient_out = ce.logits;
  ce.losses_out = array_on_gpu(losses, TOKAVG_DTYPE_F32);
  plan.rank->cross_entropy(ticket, ce, *plan.stream);

  std::vector<float> got(labels.size());
  std::vector<float> gradient(labels.size() * kVocab);
  losses.read(got.data(), losses.bytes(), *plan.stream);
  on_gpu.read(gradient.data(), on_gpu.bytes(), *plan.stream);
  for (std::size_t row = 0; row < labels.size(); ++row) {
    check_row(logits.as<float>() + row * kVocab, labels[row], got[row], &gradient[row * kVocab]);
  }
}

}  // namespace

void check_results(const Plan& plan) {
  check_read(plan);
  check_cross_entropy(plan);
}

}  // namespace tokavg_bench
