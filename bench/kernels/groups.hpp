// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>

#include "kernels/yardsticks.hpp"

// The benchmarks. A group holds what is divided by each other, and is run in one process with its repetitions in random
// order: a slow moment of the machine then meets all of them alike. Names are GROUP/WHAT/TYPE/SIZE.
namespace tokavg_bench {

struct Plan {
  const Yardsticks* yardsticks;
  bool quick;  // few rows: to see that everything runs, not how fast

  // Logits that no cache holds.
  [[nodiscard]] std::int64_t rows(std::int64_t vocab, std::size_t element_size) const {
    constexpr std::int64_t kBytes = 64 << 20;
    return quick ? 2 : kBytes / (vocab * static_cast<std::int64_t>(element_size));
  }
};

// Adds GROUP/WHAT/TYPE/SIZE. `body` runs once for each repetition and times its loop over the state. Buffers are filled
// on first use, so that a filter saves their memory.
using Body = std::function<void(benchmark::State&)>;
benchmark::internal::Benchmark* add(std::initializer_list<std::string> name, Body body);

// What one iteration worked on.
void set_size(benchmark::State& state, std::size_t bytes, std::int64_t elements);

// kernels/
void add_count(const Plan& plan);
void add_cross_entropy(const Plan& plan);
void add_loss();
void add_scale(const Plan& plan);
void add_threads(const Plan& plan);
void add_tiny();
void add_accuracy(const Plan& plan);

// growth/
void add_vocabulary(const Plan& plan);
void add_tokens();
void add_microbatches();

}  // namespace tokavg_bench
