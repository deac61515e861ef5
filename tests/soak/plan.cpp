// SPDX-License-Identifier: Apache-2.0
#include "soak/plan.hpp"

#include "support/random.h"

namespace soak {
namespace {

std::uint64_t seed_of(std::uint64_t seed, int rank, int step) {
  std::uint64_t state = seed ^ (static_cast<std::uint64_t>(rank) << 48U) ^ static_cast<std::uint64_t>(step);
  return random_next(&state);
}

bool one_in(std::uint64_t* state, std::int64_t n) { return random_below(state, n) == 0; }

Microbatch draw_microbatch(const Life& life, std::uint64_t* state) {
  Microbatch microbatch;
  const std::int64_t calls = 1 + random_below(state, life.terms);
  for (std::int64_t i = 0; i < calls; ++i) {
    Count count;
    count.term = static_cast<int>(random_below(state, life.terms));
    count.by_labels = one_in(state, 3);
    count.tokens = one_in(state, 5) ? 0 : random_below(state, count.by_labels ? 40 : 100000);
    if (life.losses && count.tokens > 0) {
      microbatch.losses.push_back(
          {count.term, count.tokens, random_below(state, 1 << 20) - (1 << 18), one_in(state, 2)});
    }
    microbatch.counts.push_back(count);
  }
  microbatch.discarded = one_in(state, 6);
  return microbatch;
}

}  // namespace

int Life::last_step_of(int rank) const {
  std::uint64_t state = seed_of(seed, rank, -1);
  return one_in(&state, 2) ? steps : 1 + static_cast<int>(random_below(&state, steps));
}

Part Life::part(int rank, int step) const {
  Part part;
  const int last = last_step_of(rank);
  if (step > last) return part;
  part.done = step == last;
  std::uint64_t state = seed_of(seed, rank, step);
  const std::int64_t microbatches = one_in(&state, 8) ? 0 : 1 + random_below(&state, 4);
  for (std::int64_t m = 0; m < microbatches; ++m) part.microbatches.push_back(draw_microbatch(*this, &state));
  return part;
}

void add(const Part& part, Sums& sums) {
  bool empty = true;
  for (const Microbatch& microbatch : part.microbatches) {
    if (microbatch.discarded) continue;
    ++sums.microbatches;
    for (const Count& count : microbatch.counts) {
      sums.tokens[static_cast<std::size_t>(count.term)] += count.tokens;
      empty = empty && count.tokens == 0;
    }
    for (const Loss& loss : microbatch.losses) sums.loss_units[static_cast<std::size_t>(loss.term)] += loss.units;
  }
  if (empty) ++sums.empty_ranks;
}

Sums Life::sums(int step) const {
  Sums all;
  for (int rank = 0; rank < ranks; ++rank) {
    add(part(rank, step), all);
    if (step >= last_step_of(rank)) ++all.done_ranks;
  }
  return all;
}

Life draw_life(std::uint64_t seed, int ranks, int most_steps) {
  std::uint64_t state = seed;
  Life life;
  life.seed = random_next(&state);
  life.ranks = ranks;
  life.terms = 1 + static_cast<int>(random_below(&state, kMostTerms));
  life.in_flight = 2 + static_cast<int>(random_below(&state, 15));
  life.steps = 1 + static_cast<int>(random_below(&state, most_steps));
  life.losses = !one_in(&state, 4);
  return life;
}

}  // namespace soak
