// SPDX-License-Identifier: Apache-2.0
#include "core/step.hpp"

#include <algorithm>

namespace tokavg {
namespace {

constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 63;
constexpr std::uint64_t kMostMicrobatches = std::uint64_t{1} << 32;

}  // namespace

FixedSum TermCounts::total_weight() const noexcept { return from_limbs(to_limbs(weights), tokens - weighted); }

double TermCounts::weight_sum() const noexcept {
  // Not through the fixed point where no weights were given: N may reach 2^63, which has no room there.
  return weighted == 0 ? static_cast<double>(tokens) : total_weight().value();
}

void TermLosses::add(const TermLosses& other) noexcept {
  tokens += other.tokens;
  unaudited += other.unaudited;
  nonfinite += other.nonfinite;
  sum.add(other.sum);
}

bool StepCounts::empty() const noexcept {
  return std::all_of(terms.begin(), terms.end(), [](const TermCounts& term) { return term.tokens == 0; });
}

void OpenStep::begin(std::uint64_t microbatches) {
  if (microbatches == 0) return;
  if (microbatches >= kMostMicrobatches - now_.counts.microbatches) {
    fail(TOKAVG_ERR_OVERFLOW, "this step has %llu microbatches and %llu more reach 2^32; reduce more often",
         static_cast<unsigned long long>(now_.counts.microbatches), static_cast<unsigned long long>(microbatches));
  }
  before_latest_ = now_;
  now_.counts.microbatches += microbatches;
}

void OpenStep::add(std::int32_t term, std::uint64_t tokens, std::uint64_t weighted, const FixedSum& weights) {
  TermCounts& counts = now_.counts.terms[index(term)];
  if (tokens >= kMostTokens - counts.tokens) {
    fail(TOKAVG_ERR_OVERFLOW, "term %d has %llu tokens in this step and %llu more reach 2^63; check the counts", term,
         static_cast<unsigned long long>(counts.tokens), static_cast<unsigned long long>(tokens));
  }
  counts.tokens += tokens;
  counts.weighted += weighted;
  counts.weights.add(weights);
}

void OpenStep::discard() {
  if (!before_latest_) {
    fail(TOKAVG_ERR_STATE,
         "there is no microbatch to discard: none was begun in this step, or it was discarded already; discard once, "
         "right after counting, and before tokavg_reduce");
  }
  now_ = *before_latest_;
  before_latest_.reset();
}

bool Step::nothing_to_divide(std::int32_t terms) const noexcept {
  return std::all_of(divisors.begin(), divisors.begin() + terms, [](double z) { return z == 0; });
}

bool Step::losses_complete(std::int32_t terms) const noexcept {
  for (std::size_t term = 0; term < static_cast<std::size_t>(terms); ++term) {
    if (sums.terms[term].tokens != losses[term].tokens) return false;
  }
  return true;
}

}  // namespace tokavg
