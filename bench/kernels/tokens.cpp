// SPDX-License-Identifier: Apache-2.0
#include "kernels/tokens.hpp"

#include <vector>

#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

constexpr std::int64_t kClasses = 32000;

// Between 0 and 7: of no particular model.
std::vector<float> some_losses(std::int64_t n) {
  Random random(5);
  std::vector<float> losses(static_cast<std::size_t>(n));
  for (float& loss : losses) {
    loss = random.nearly_normal() + 3.5F;
  }
  return losses;
}

Buffer some_labels(std::int64_t n) {
  Buffer labels(static_cast<std::size_t>(n) * sizeof(std::int64_t));
  fill_labels(labels, kClasses);
  return labels;
}

}  // namespace

void time_count(benchmark::State& state, std::int64_t n) {
  const Context context;
  const Buffer labels = some_labels(n);
  const tokavg_labels_t view = labels_of(labels.as<std::int64_t>(), 1, n);
  for (auto _ : state) {
    context.count(view);
  }
  set_size(state, labels.bytes(), n);
}

void time_loss(benchmark::State& state, std::int64_t n) {
  const Context context;
  const std::vector<float> losses = some_losses(n);
  const Buffer labels = some_labels(n);
  const tokavg_labels_t view = labels_of(labels.as<std::int64_t>(), 1, n);
  const tokavg_loss_t loss = token_losses_of(losses.data(), view);
  for (auto _ : state) {
    context.loss(TOKAVG_OPEN, loss);
  }
  set_size(state, labels.bytes() + losses.size() * sizeof(float), n);
}

void time_plain_sum(benchmark::State& state, std::int64_t n) {
  const std::vector<float> losses = some_losses(n);
  for (auto _ : state) {
    double sum = 0;
    for (const float loss : losses) {
      sum += static_cast<double>(loss);
    }
    benchmark::DoNotOptimize(sum);
  }
  set_size(state, losses.size() * sizeof(float), n);
}

}  // namespace tokavg_bench
