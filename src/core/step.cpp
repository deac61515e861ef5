// SPDX-License-Identifier: Apache-2.0
#include "core/step.hpp"

#include <algorithm>

namespace tokavg {
namespace {

constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 63;
constexpr std::uint64_t kMostMicrobatches = std::uint64_t{1} << 32;

}  // namespace

void TermLosses::add(const TermLosses& other) noexcept {
  // Ranks and messages together can reach 2^63, and beyond 2^64 they would look like few: the audit must see too many.
  tokens = std::min<std::uint64_t>(tokens + other.tokens, INT64_MAX);  // both are below 2^63
  unaudited += other.unaudited;
  nonfinite += other.nonfinite;
  sum.add(other.sum);
}

bool StepCounts::empty() const noexcept {
  return std::all_of(terms.begin(), terms.end(), [](const TermCounts& term) { return term.tokens == 0; });
}

void OpenStep::begin(std::uint64_t microbatches) {
  if (microbatches == 0) return;
  if (microbatches >= kMostMicrobatches - counts_.microbatches) {
    fail(TOKAVG_ERR_OVERFLOW, "this step has %llu microbatches and %llu more reach 2^32; reduce more often",
         static_cast<unsigned long long>(counts_.microbatches), static_cast<unsigned long long>(microbatches));
  }
  saved_.reset();
  microbatches_before_ = counts_.microbatches;
  has_microbatch_ = true;
  counts_.microbatches += microbatches;
}

void OpenStep::save(std::size_t term) noexcept {
  if (saved_[term]) return;
  saved_[term] = true;
  before_[term] = {counts_.terms[term], losses_[term]};
}

void OpenStep::add(std::int32_t term, std::uint64_t tokens, std::uint64_t weighted, const FixedSum& weights) {
  TermCounts& counts = counts_.terms[static_cast<std::size_t>(term)];
  if (tokens >= kMostTokens - counts.tokens) {
    fail(TOKAVG_ERR_OVERFLOW, "term %d has %llu tokens in this step and %llu more reach 2^63; check the counts", term,
         static_cast<unsigned long long>(counts.tokens), static_cast<unsigned long long>(tokens));
  }
  save(static_cast<std::size_t>(term));
  counts.tokens += tokens;
  counts.weighted += weighted;
  counts.weights.add(weights);
}

void OpenStep::record(std::int32_t term, const TermLosses& losses) noexcept {
  save(static_cast<std::size_t>(term));
  losses_[static_cast<std::size_t>(term)].add(losses);
}

void OpenStep::discard() {
  if (!has_microbatch_) {
    fail(TOKAVG_ERR_STATE,
         "there is no microbatch to discard: none was begun in this step, or it was discarded already; discard once, "
         "right after counting, and before tokavg_reduce");
  }
  for (std::size_t term = 0; term < before_.size(); ++term) {
    if (!saved_[term]) continue;
    counts_.terms[term] = before_[term].counts;
    losses_[term] = before_[term].losses;
  }
  counts_.microbatches = microbatches_before_;
  has_microbatch_ = false;
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
