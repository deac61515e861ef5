// SPDX-License-Identifier: Apache-2.0
// How the time grows with the vocabulary, with the tokens and with the microbatches of a step.
#include <vector>

#include "kernels/logits.hpp"
#include "kernels/tokens.hpp"

namespace tokavg_bench {
namespace {

// A step of one rank: count each microbatch, sum, wait.
void time_step(benchmark::State& state, std::int64_t microbatches) {
  constexpr std::int64_t kTokens = 4096;
  const Context context;
  const Buffer data(static_cast<std::size_t>(kTokens) * sizeof(std::int64_t));
  fill_labels(data, 32000);
  const tokavg_labels_t labels = labels_of(data.as<std::int64_t>(), 1, kTokens);
  for (auto _ : state) {
    for (std::int64_t m = 0; m < microbatches; ++m) {
      context.count(labels);
    }
    context.wait(context.reduce());
  }
  set_size(state, static_cast<std::size_t>(microbatches) * data.bytes(), microbatches);
}

}  // namespace

// The same bytes cut into longer and longer rows.
void add_vocabulary(const Plan& plan) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 18;
  const auto bytes = static_cast<std::size_t>(plan.rows(kLargest, sizeof(float)) * kLargest) * sizeof(float);
  const auto logits = std::make_shared<Logits>(Dtype::kF32, bytes);
  for (std::int64_t vocab = std::int64_t{1} << 13; vocab <= kLargest; vocab *= 2) {
    const std::int64_t rows = plan.rows(vocab, sizeof(float));
    const std::string size = std::to_string(vocab);
    add({"vocabulary", "forward", "f32", size},
        [=](benchmark::State& state) { Rows(rows, vocab).time_forward(state, *logits); });
    add({"vocabulary", "gradient", "f32", size},
        [=](benchmark::State& state) { Rows(rows, vocab).time_gradient(state, *logits); });
  }
}

void add_tokens() {
  for (std::int64_t n = std::int64_t{1} << 10; n <= std::int64_t{1} << 20; n *= 4) {
    add({"tokens", "count", "i64", std::to_string(n)}, [n](benchmark::State& state) { time_count(state, n); });
    add({"tokens", "loss", "f32", std::to_string(n)}, [n](benchmark::State& state) { time_loss(state, n); });
  }
}

void add_microbatches() {
  for (std::int64_t m = 1; m <= 32; m *= 2) {
    add({"microbatches", "step", "i64", std::to_string(m)}, [m](benchmark::State& state) { time_step(state, m); });
  }
}

}  // namespace tokavg_bench
