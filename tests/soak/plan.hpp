// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

// What every rank does in a step, drawn from seeds alone: so each rank knows what all others do, and what must come of
// it by the contract, without asking the library.
namespace soak {

inline constexpr int kMostTerms = 3;
inline constexpr double kUnit = 0x1p-10;  // losses are multiples of it: their sums are exact in double

// One call of tokavg_count or tokavg_count_add.
struct Count {
  int term = 0;
  std::int64_t tokens = 0;
  bool by_labels = false;
};

// Losses of one term, in units of kUnit.
struct Loss {
  int term = 0;
  std::int64_t tokens = 0;
  std::int64_t units = 0;
  bool on_ticket = false;  // recorded when the step is closed, else on the open step
};

struct Microbatch {
  std::vector<Count> counts;
  std::vector<Loss> losses;
  bool discarded = false;
};

// One rank's part in a step.
struct Part {
  std::vector<Microbatch> microbatches;
  bool done = false;  // says so with this step; from the next one on it has none
};

struct Sums {
  std::array<std::int64_t, kMostTerms> tokens{};
  std::array<std::int64_t, kMostTerms> loss_units{};
  std::int64_t microbatches = 0;
  std::int32_t empty_ranks = 0;
  std::int32_t done_ranks = 0;
};

// A context's life.
struct Life {
  std::uint64_t seed = 0;
  int ranks = 1;
  int terms = 1;
  int in_flight = 4;
  int steps = 0;
  bool losses = true;  // are any recorded?

  // Those of the ranks after which rank r has no more data; steps where it has until the end.
  [[nodiscard]] int last_step_of(int rank) const;
  [[nodiscard]] Part part(int rank, int step) const;
  [[nodiscard]] Sums sums(int step) const;
};

Life draw_life(std::uint64_t seed, int ranks, int most_steps);

// The sums of one rank's part; `sums` gets what all ranks see.
void add(const Part& part, Sums& sums);

}  // namespace soak
