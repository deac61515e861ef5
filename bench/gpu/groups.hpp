// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "gpu/rank.hpp"
#include "gpu/results.hpp"

// The benchmarks. A group holds what is divided by one another; names are GROUP/WHAT/TYPE/SIZE.
namespace tokavg_bench {

// How much of it: enough to measure, enough to see that it works, or as little as an emulator or a sanitizer can bear.
enum class Amount { kFull, kQuick, kTiny };

struct Plan {
  Amount amount = Amount::kFull;
  const Rank* rank = nullptr;  // alone
  const Stream* stream = nullptr;
  Results* results = nullptr;

  // Of the three amounts.
  template <class Number>
  [[nodiscard]] Number choose(Number full, Number quick, Number tiny) const {
    return amount == Amount::kFull ? full : amount == Amount::kQuick ? quick : tiny;
  }
  [[nodiscard]] int rounds() const { return choose(21, 5, 1); }
  // Rows of logits: 8192, or as many as two buffers of them fit into the memory that is free.
  [[nodiscard]] std::int64_t rows(std::int64_t vocab, std::size_t element_size) const {
    const std::size_t row = static_cast<std::size_t>(vocab) * element_size;
    const auto fitting = static_cast<std::int64_t>(free_memory() / 10 * 4 / row);
    return std::min(fitting, choose<std::int64_t>(8192, 1024, 3));
  }
};

void run_count(const Plan& plan);
void run_cross_entropy(const Plan& plan);
void run_loss(const Plan& plan);
void run_scale(const Plan& plan);
// What a step costs besides the work on its tokens, on the GPU and on the host.
void run_steps(const Plan& plan);
void run_host(const Plan& plan);

// Ends the program where a result or a yardstick is wrong: a time of something that does not work must not be printed.
void check_results(const Plan& plan);

}  // namespace tokavg_bench
