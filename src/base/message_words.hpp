// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/fixed_point.hpp"

// The words of a message, and what is computed from them. constexpr throughout: a GPU makes and reads messages with
// the very same code as the host.
//
//     roll call    h, h*(rank+1), h*(rank+1)^2           what must agree: step, sequence, kind, configuration
//     failures     1, rank+1, (rank+1)^2                 of the ranks that failed
//     ranks        done, empty
//     step         microbatches, copies check
//     per term     tokens (2 words), weighted tokens (2), bad weights, bad labels, weight limbs (4), too large
//     per kept ticket, newest first, per term            loss tokens (2), unaudited, non-finite, loss limbs (4)
//
// A message of kind reduce closes the newest ticket and also carries the losses of the one that retires with it.
namespace tokavg {

enum class MessageKind : std::uint64_t { kReduce = 1, kFlush = 2, kFinalize = 3 };

inline constexpr std::size_t kRollWords = 3;

// Where what begins.
inline constexpr std::size_t kRollAt = 0;
inline constexpr std::size_t kFailedAt = 3;
inline constexpr std::size_t kDoneAt = 6;
inline constexpr std::size_t kEmptyAt = 7;
inline constexpr std::size_t kMicrobatchesAt = 8;
inline constexpr std::size_t kCopiesAt = 9;
inline constexpr std::size_t kHeaderWords = 10;
// Within a term.
inline constexpr std::size_t kTokensAt = 0;
inline constexpr std::size_t kWeightedAt = 2;
inline constexpr std::size_t kBadWeightsAt = 4;
inline constexpr std::size_t kBadLabelsAt = 5;
inline constexpr std::size_t kWeightLimbsAt = 6;
inline constexpr std::size_t kTooLargeAt = 10;
inline constexpr std::size_t kTermWords = 11;
// Within the losses of a term.
inline constexpr std::size_t kLossTokensAt = 0;
inline constexpr std::size_t kUnauditedAt = 2;
inline constexpr std::size_t kNonfiniteAt = 3;
inline constexpr std::size_t kLossLimbsAt = 4;
inline constexpr std::size_t kLossWords = 8;

// The same on all ranks, fixed at init.
struct MessageLayout {
  std::int32_t terms = 1;
  std::int32_t in_flight = 4;

  // Tickets whose losses travel: those kept, and the one that retires.
  [[nodiscard]] constexpr std::size_t slots() const noexcept { return static_cast<std::size_t>(in_flight) + 1; }
  [[nodiscard]] constexpr std::size_t words() const noexcept { return losses_at(slots(), 0); }
  [[nodiscard]] constexpr std::size_t term_at(std::size_t term) const noexcept {
    return kHeaderWords + kTermWords * term;
  }
  [[nodiscard]] constexpr std::size_t losses_at(std::size_t slot, std::size_t term) const noexcept {
    const auto n_terms = static_cast<std::size_t>(terms);
    return term_at(n_terms) + (slot * n_terms + term) * kLossWords;
  }
};

// The finaliser of splitmix64 over an accumulated state: each added value passes through it.
constexpr std::uint64_t mix(std::uint64_t state, std::uint64_t value) noexcept {
  std::uint64_t x = state * 0x9e3779b97f4a7c15U + value + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// What a rank says it is doing. Two ranks that say different things are not in the same step.
struct Roll {
  std::uint64_t config_hash = 0;
  MessageKind kind = MessageKind::kReduce;
  std::uint64_t sequence = 0;  // of the message
  std::int64_t newest = 0;     // ticket
  bool has_step_id = false;
  std::int64_t step_id = 0;
  double accumulation_divisor = 0;

  [[nodiscard]] constexpr std::uint64_t hash(const MessageLayout& layout) const noexcept {
    std::uint64_t h = mix(config_hash, static_cast<std::uint64_t>(kind));
    h = mix(h, sequence);
    h = mix(h, static_cast<std::uint64_t>(newest));
    h = mix(h, layout.words());
    h = mix(h, has_step_id ? 1 : 0);
    h = mix(h, static_cast<std::uint64_t>(step_id));
    return mix(h, std::bit_cast<std::uint64_t>(accumulation_divisor));
  }
};

// value, value * (rank + 1), value * (rank + 1)^2: see core/rollcall.hpp.
constexpr void add_roll(std::uint64_t* words, std::uint64_t value, std::int32_t rank) noexcept {
  const auto place = static_cast<std::uint64_t>(rank) + 1;
  words[0] += value;
  words[1] += value * place;
  words[2] += value * place * place;
}

// The sums of 1, rank + 1 and (rank + 1)^2 over the ranks that have not failed, modulo 2^64.
constexpr std::array<std::uint64_t, kRollWords> sums_of_places(const std::uint64_t* failed,
                                                               std::int32_t ranks) noexcept {
  const auto p = static_cast<UInt128>(static_cast<std::uint32_t>(ranks));
  return {static_cast<std::uint64_t>(p) - failed[0], static_cast<std::uint64_t>(p * (p + 1) / 2) - failed[1],
          static_cast<std::uint64_t>(p * (p + 1) * (2 * p + 1) / 6) - failed[2]};
}

// 64-bit counts travel in two words of 32 and 31 bits, so that no sum over 2^31 ranks can wrap.
constexpr void put_count(std::uint64_t* words, std::uint64_t count) noexcept {
  words[0] = count & 0xffffffffU;
  words[1] = count >> 32;
}

// False when the sum is 2^63 or more.
constexpr bool get_count(const std::uint64_t* words, std::uint64_t& count) noexcept {
  const std::uint64_t high = words[1] + (words[0] >> 32);
  const bool fits = high < (std::uint64_t{1} << 31);
  count = fits ? (high << 32) | (words[0] & 0xffffffffU) : INT64_MAX;
  return fits;
}

constexpr void put_limbs(std::uint64_t* words, const FixedSum& sum) noexcept {
  const Limbs limbs = to_limbs(sum);
  for (std::size_t i = 0; i < limbs.size(); ++i) words[i] = limbs[i];
}

constexpr Limbs get_limbs(const std::uint64_t* words) noexcept { return {words[0], words[1], words[2], words[3]}; }

// Counts of one term: this rank's, or all ranks'.
struct TermCounts {
  std::uint64_t tokens = 0;    // scored
  std::uint64_t weighted = 0;  // those that had a weight given; the others weigh 1
  FixedSum weights;            // sum of the weights given

  // The sum of all weights, of those not given too.
  [[nodiscard]] constexpr FixedSum total_weight() const noexcept {
    return from_limbs(to_limbs(weights), tokens - weighted);
  }
  // The same as a double. Not through the fixed point where no weights were given: N may reach 2^63, which has no room
  // there.
  [[nodiscard]] constexpr double weight_sum() const noexcept {
    return weighted == 0 ? static_cast<double>(tokens) : total_weight().value();
  }
  [[nodiscard]] bool operator==(const TermCounts&) const noexcept = default;
};

constexpr void put_counts(std::uint64_t* words, const TermCounts& term) noexcept {
  put_count(words + kTokensAt, term.tokens);
  put_count(words + kWeightedAt, term.weighted);
  put_limbs(words + kWeightLimbsAt, term.weights);
  words[kTooLargeAt] = term.weights.too_large() ? 1 : 0;
}

// What is wrong with the sums of a term over the ranks.
struct TermFaults {
  bool too_many_tokens = false;  // 2^63 or more
  bool weights_too_large = false;
};

constexpr TermFaults get_counts(const std::uint64_t* words, TermCounts& term) noexcept {
  TermFaults faults;
  faults.too_many_tokens = !get_count(words + kTokensAt, term.tokens);
  static_cast<void>(get_count(words + kWeightedAt, term.weighted));  // never more than the tokens
  term.weights = from_limbs(get_limbs(words + kWeightLimbsAt));
  const bool fits = term.weighted == 0 || !(term.weights.too_large() || term.total_weight().too_large());
  faults.weights_too_large = words[kTooLargeAt] != 0 || !fits;
  return faults;
}

// By which copies of the same labels find out whether they counted the same: begin with the microbatches, add each of
// TOKAVG_MAX_TERMS terms.
constexpr std::uint64_t fingerprint_begin(std::uint64_t microbatches) noexcept { return mix(0, microbatches); }
constexpr std::uint64_t fingerprint_add(std::uint64_t x, const TermCounts& term) noexcept {
  x = mix(x, term.tokens);
  const Limbs limbs = to_limbs(term.total_weight());
  for (std::size_t i = 0; i < limbs.size(); ++i) x = mix(x, limbs[i]);
  return x;
}
// Zero-sum over the copies when they counted the same; where they did not, only by a chance of 2^-64.
constexpr std::uint64_t copies_word(std::uint64_t fingerprint, std::int32_t copies, std::int32_t index) noexcept {
  return index == 0 ? fingerprint * (static_cast<std::uint64_t>(copies) - 1) : 0 - fingerprint;
}

// What turns counts into factors, agreed at init.
struct FactorRule {
  bool gradients_averaged = true;   // by the trainer's own reduction
  std::int32_t gradient_ranks = 1;  // G
  std::int32_t microbatch_shards = 1;
  bool weights_divide = false;

  // Z of a term: the tokens, or the sum of their weights.
  [[nodiscard]] constexpr double divisor(const TermCounts& counts, double weight_sum) const noexcept {
    return weights_divide ? weight_sum : static_cast<double>(counts.tokens);
  }
  // G * A / Z or A / Z, the product before the one division; 0 where there is nothing to divide by.
  [[nodiscard]] constexpr double scale(double z, double accumulation_divisor) const noexcept {
    return z == 0 ? 0.0 : group() * accumulation_divisor / z;
  }
  // G * A * shards / M or A * shards / M.
  [[nodiscard]] constexpr double microbatch(std::uint64_t microbatches, double accumulation_divisor) const noexcept {
    if (microbatches == 0) return 0.0;
    return group() * accumulation_divisor * static_cast<double>(microbatch_shards) / static_cast<double>(microbatches);
  }
  // 1 / Z.
  [[nodiscard]] static constexpr double report(double z) noexcept { return z == 0 ? 0.0 : 1.0 / z; }

 private:
  [[nodiscard]] constexpr double group() const noexcept {
    return gradients_averaged ? static_cast<double>(gradient_ranks) : 1.0;
  }
};

}  // namespace tokavg
