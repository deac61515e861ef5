// SPDX-License-Identifier: Apache-2.0
#include "core/message.hpp"

namespace tokavg {
namespace {

std::uint64_t copies_check(const Contribution& part) noexcept {
  std::uint64_t x = fingerprint_begin(part.counts->microbatches);
  for (const TermCounts& term : part.counts->terms) x = fingerprint_add(x, term);
  return copies_word(x, part.copies, part.copy_index);
}

void put_losses(std::uint64_t* at, const TermLosses& losses) noexcept {
  put_count(at + kLossTokensAt, losses.tokens);
  at[kUnauditedAt] = losses.unaudited;
  at[kNonfiniteAt] = losses.nonfinite + (losses.sum.too_large() ? 1 : 0);
  put_limbs(at + kLossLimbsAt, losses.sum);
}

TermLosses get_losses(const std::uint64_t* at) noexcept {
  TermLosses losses;
  (void)get_count(at + kLossTokensAt, losses.tokens);  // recorded more than 2^63: the audit shows it
  losses.unaudited = at[kUnauditedAt];
  losses.nonfinite = at[kNonfiniteAt];
  losses.sum = from_limbs(get_limbs(at + kLossLimbsAt));
  if (losses.sum.too_large()) {
    losses.sum = FixedSum{};
    ++losses.nonfinite;
  }
  return losses;
}

}  // namespace

std::vector<std::uint64_t> encode(const MessageLayout& layout, const Contribution& part) {
  std::vector<std::uint64_t> words(layout.words(), 0);
  if (part.failed) {
    add_roll(&words[kFailedAt], 1, part.rank);
  } else {
    add_roll(&words[kRollAt], part.roll, part.rank);
  }
  if (!part.holds_labels) return words;
  if (part.counts != nullptr) {
    words[kDoneAt] = part.done ? 1 : 0;
    words[kEmptyAt] = part.counts->empty() ? 1 : 0;
    words[kCopiesAt] = copies_check(part);
  }
  if (part.copy_index != 0) return words;  // copies add to no sum
  const auto terms = static_cast<std::size_t>(layout.terms);
  if (part.counts != nullptr) {
    words[kMicrobatchesAt] = part.counts->microbatches;
    for (std::size_t t = 0; t < terms; ++t) put_counts(&words[layout.term_at(t)], part.counts->terms[t]);
  }
  for (std::size_t slot = 0; slot < part.losses.size(); ++slot) {
    if (part.losses[slot] == nullptr) continue;
    for (std::size_t t = 0; t < terms; ++t) put_losses(&words[layout.losses_at(slot, t)], (*part.losses[slot])[t]);
  }
  return words;
}

Summed decode(const MessageLayout& layout, std::span<const std::uint64_t> words) {
  Summed summed;
  summed.words = words;
  summed.failures = read_failures(words.subspan<kFailedAt, kRollWords>());
  summed.done_ranks = rank_count(words[kDoneAt]);
  summed.empty_ranks = rank_count(words[kEmptyAt]);
  summed.copies_agree = words[kCopiesAt] == 0;
  summed.counts.microbatches = words[kMicrobatchesAt];
  const auto terms = static_cast<std::size_t>(layout.terms);
  for (std::size_t t = 0; t < terms; ++t) {
    const std::uint64_t* at = &words[layout.term_at(t)];
    const TermFaults faults = get_counts(at, summed.counts.terms[t]);
    summed.too_many_tokens = summed.too_many_tokens || faults.too_many_tokens;
    summed.weights_too_large = summed.weights_too_large || faults.weights_too_large;
    summed.bad_weights += at[kBadWeightsAt];
    summed.bad_labels[t] = at[kBadLabelsAt];
  }
  summed.losses.resize(layout.slots());
  for (std::size_t slot = 0; slot < layout.slots(); ++slot) {
    for (std::size_t t = 0; t < terms; ++t) summed.losses[slot][t] = get_losses(&words[layout.losses_at(slot, t)]);
  }
  return summed;
}

std::optional<std::string> Summed::deviation(std::optional<std::uint64_t> roll, std::int32_t ranks) const {
  if (!roll) {
    const bool agree =
        others_agree(words.subspan<kRollAt, kRollWords>(), words.subspan<kFailedAt, kRollWords>(), ranks);
    return agree ? std::nullopt : std::optional<std::string>("the ranks other than this one differ");
  }
  return find_deviation(words.subspan<kRollAt, kRollWords>(), words.subspan<kFailedAt, kRollWords>(), *roll, ranks);
}

}  // namespace tokavg
