// SPDX-License-Identifier: Apache-2.0
#include "core/message.hpp"

namespace tokavg {
namespace {

constexpr std::size_t kRoll = 0;
constexpr std::size_t kFailed = 3;
constexpr std::size_t kDone = 6;
constexpr std::size_t kEmpty = 7;
constexpr std::size_t kMicrobatches = 8;
constexpr std::size_t kCopies = 9;
constexpr std::size_t kHeaderWords = 10;
constexpr std::size_t kTermWords = 11;
constexpr std::size_t kLossWords = 8;

// 64-bit counts travel in two words of 32 and 31 bits, so that no sum over 2^31 ranks can wrap.
void put_count(std::uint64_t* words, std::uint64_t count) noexcept {
  words[0] = count & 0xffffffffU;
  words[1] = count >> 32;
}

// False when the sum is 2^63 or more.
bool get_count(const std::uint64_t* words, std::uint64_t& count) noexcept {
  const std::uint64_t high = words[1] + (words[0] >> 32);
  const bool fits = high < (std::uint64_t{1} << 31);
  count = fits ? (high << 32) | (words[0] & 0xffffffffU) : INT64_MAX;
  return fits;
}

void put_limbs(std::uint64_t* words, const FixedSum& sum) noexcept {
  const Limbs limbs = to_limbs(sum);
  for (std::size_t i = 0; i < limbs.size(); ++i) words[i] = limbs[i];
}

Limbs get_limbs(const std::uint64_t* words) noexcept { return {words[0], words[1], words[2], words[3]}; }

std::uint64_t fingerprint(const StepCounts& counts) noexcept {
  std::uint64_t x = mix(0, counts.microbatches);
  for (const TermCounts& term : counts.terms) {
    x = mix(x, term.tokens);
    for (const std::uint64_t limb : to_limbs(term.total_weight())) x = mix(x, limb);
  }
  return x;
}

// Zero-sum over the copies of the same labels when they counted the same; where they did not, only by a chance of
// 2^-64.
std::uint64_t copies_check(const Contribution& part) noexcept {
  const std::uint64_t x = fingerprint(*part.counts);
  return part.copy_index == 0 ? x * (static_cast<std::uint64_t>(part.copies) - 1) : 0 - x;
}

void put_counts(std::span<std::uint64_t> words, const MessageLayout& layout, const StepCounts& counts) noexcept {
  words[kMicrobatches] = counts.microbatches;
  for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
    const TermCounts& term = counts.terms[t];
    std::uint64_t* at = &words[kHeaderWords + t * kTermWords];
    put_count(at, term.tokens);
    put_count(at + 2, term.weighted);
    put_limbs(at + 6, term.weights);
    at[10] = term.weights.too_large() ? 1 : 0;
  }
}

std::size_t loss_offset(const MessageLayout& layout, std::size_t slot, std::size_t term) noexcept {
  const auto terms = static_cast<std::size_t>(layout.terms);
  return kHeaderWords + kTermWords * terms + (slot * terms + term) * kLossWords;
}

void put_losses(std::uint64_t* at, const TermLosses& losses) noexcept {
  put_count(at, losses.tokens);
  at[2] = losses.unaudited;
  at[3] = losses.nonfinite + (losses.sum.too_large() ? 1 : 0);
  put_limbs(at + 4, losses.sum);
}

TermLosses get_losses(const std::uint64_t* at) noexcept {
  TermLosses losses;
  (void)get_count(at, losses.tokens);  // recorded more than 2^63: the audit shows it
  losses.unaudited = at[2];
  losses.nonfinite = at[3];
  losses.sum = from_limbs(get_limbs(at + 4));
  if (losses.sum.too_large()) {
    losses.sum = FixedSum{};
    ++losses.nonfinite;
  }
  return losses;
}

void get_counts(std::span<const std::uint64_t> words, const MessageLayout& layout, Summed& summed) {
  summed.counts.microbatches = words[kMicrobatches];
  for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
    const std::uint64_t* at = &words[kHeaderWords + t * kTermWords];
    TermCounts& term = summed.counts.terms[t];
    if (!get_count(at, term.tokens)) summed.too_many_tokens = true;
    (void)get_count(at + 2, term.weighted);  // never more than the tokens
    summed.bad_weights += at[4];
    summed.bad_labels[t] = at[5];
    term.weights = from_limbs(get_limbs(at + 6));
    const bool fits = term.weighted == 0 || !(term.weights.too_large() || term.total_weight().too_large());
    if (at[10] != 0 || !fits) summed.weights_too_large = true;
  }
}

}  // namespace

std::size_t MessageLayout::words() const noexcept {
  return kHeaderWords + static_cast<std::size_t>(terms) * (kTermWords + kLossWords * slots());
}

std::vector<std::uint64_t> encode(const MessageLayout& layout, const Contribution& part) {
  std::vector<std::uint64_t> words(layout.words(), 0);
  const std::span<std::uint64_t> all(words);
  if (part.failed) {
    add_roll(all.subspan<kFailed, kRollWords>(), 1, part.rank);
  } else {
    add_roll(all.subspan<kRoll, kRollWords>(), part.roll, part.rank);
  }
  if (!part.holds_labels) return words;
  if (part.counts != nullptr) {
    words[kDone] = part.done ? 1 : 0;
    words[kEmpty] = part.counts->empty() ? 1 : 0;
    words[kCopies] = copies_check(part);
  }
  if (part.copy_index != 0) return words;  // copies add to no sum
  if (part.counts != nullptr) put_counts(all, layout, *part.counts);
  for (std::size_t slot = 0; slot < part.losses.size(); ++slot) {
    if (part.losses[slot] == nullptr) continue;
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
      put_losses(&words[loss_offset(layout, slot, t)], (*part.losses[slot])[t]);
    }
  }
  return words;
}

Summed decode(const MessageLayout& layout, std::span<const std::uint64_t> words) {
  Summed summed;
  summed.words = words;
  summed.failures = read_failures(words.subspan<kFailed, kRollWords>());
  summed.done_ranks = static_cast<std::int32_t>(words[kDone]);
  summed.empty_ranks = static_cast<std::int32_t>(words[kEmpty]);
  summed.copies_agree = words[kCopies] == 0;
  get_counts(words, layout, summed);
  summed.losses.resize(layout.slots());
  for (std::size_t slot = 0; slot < layout.slots(); ++slot) {
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
      summed.losses[slot][t] = get_losses(&words[loss_offset(layout, slot, t)]);
    }
  }
  return summed;
}

std::optional<std::string> Summed::deviation(std::optional<std::uint64_t> roll, std::int32_t ranks) const {
  if (!roll) {
    const bool agree = others_agree(words.subspan<kRoll, kRollWords>(), words.subspan<kFailed, kRollWords>(), ranks);
    return agree ? std::nullopt : std::optional<std::string>("the ranks other than this one differ");
  }
  return find_deviation(words.subspan<kRoll, kRollWords>(), words.subspan<kFailed, kRollWords>(), *roll, ranks);
}

}  // namespace tokavg
