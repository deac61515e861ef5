// SPDX-License-Identifier: Apache-2.0
// Messages of ranks that keep to the format, summed and read again: compared with sums in 128 bits.
#include "core/message.hpp"
#include "message/parts.hpp"

namespace fuzz {
namespace {

using namespace tokavg;

struct Rank {
  Contribution part;
  StepCounts counts;
  std::vector<PerTerm<TermLosses>> losses;
};

// Several additions: a sum that has wrapped on its way, and come back, must not show it.
FixedSum fixed_sum(Reader& in) {
  FixedSum sum;
  for (std::size_t n = in.below(4); n > 0; --n) {
    const auto high = static_cast<std::int64_t>(word(in));
    sum.add_units((static_cast<Int128>(high) << 64 >> (in.coin() ? 0 : 64)) + static_cast<Int128>(in.byte()));
  }
  if (in.one_in(16)) sum.mark_too_large();
  return sum;
}

StepCounts step_counts(Reader& in, std::size_t terms) {
  StepCounts counts;
  counts.microbatches = word(in) & 0xffffffffU;
  for (std::size_t t = 0; t < terms; ++t) {
    TermCounts& term = counts.terms[t];
    term.tokens = word(in) & INT64_MAX;
    if (term.tokens == 0 || !in.coin()) continue;
    term.weighted = in.coin() ? term.tokens : 1;
    term.weights = fixed_sum(in);
  }
  return counts;
}

Rank make_rank(Reader& in, const MessageLayout& layout, std::int32_t index) {
  Rank rank;
  rank.part.rank = index;
  rank.part.failed = in.one_in(8);
  rank.part.done = in.coin();
  rank.counts = step_counts(in, static_cast<std::size_t>(layout.terms));
  rank.losses.resize(in.below(layout.slots() + 1));
  for (PerTerm<TermLosses>& slot : rank.losses) {
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
      slot[t] = {word(in) & INT64_MAX, in.below(3), in.below(3), fixed_sum(in)};
    }
  }
  return rank;
}

// The words of all of them, in any order: it is addition.
std::vector<std::uint64_t> sum_of(const MessageLayout& layout, std::vector<Rank>& ranks) {
  std::vector<std::uint64_t> sum(layout.words(), 0);
  for (Rank& rank : ranks) {
    rank.part.counts = &rank.counts;
    rank.part.losses.clear();
    for (const PerTerm<TermLosses>& slot : rank.losses) rank.part.losses.push_back(&slot);
    const std::vector<std::uint64_t> words = encode(layout, rank.part);
    EXPECT(words.size() == sum.size(), "%zu words", words.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += words[i];
  }
  return sum;
}

// Those without a weight weigh 1. In pieces: 2^63 times 2^72 has no room in 128 bits, but the sum may have.
void add_ones(FixedSum& sum, std::uint64_t count) {
  constexpr int kPiece = 54;
  for (std::uint64_t n = count >> kPiece; n > 0; --n) sum.add_units(Int128{1} << (kPiece + kFractionBits));
  sum.add_units(static_cast<Int128>(count & ((std::uint64_t{1} << kPiece) - 1)) << kFractionBits);
}

void check_counts(const MessageLayout& layout, const std::vector<Rank>& ranks, const Summed& summed) {
  UInt128 microbatches = 0;
  bool any_too_many = false;
  bool any_too_large = false;
  for (const Rank& rank : ranks) microbatches += rank.counts.microbatches;
  EXPECT(summed.counts.microbatches == microbatches, "microbatches");
  for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
    UInt128 tokens = 0;
    UInt128 weighted = 0;
    FixedSum weights;
    bool too_large = false;  // also on one rank alone, whatever the others would take back
    for (const Rank& rank : ranks) {
      const TermCounts& term = rank.counts.terms[t];
      tokens += term.tokens;
      weighted += term.weighted;
      weights.add(term.weights);
      too_large = too_large || term.weights.too_large();
    }
    if (tokens > INT64_MAX) {
      any_too_many = true;
      continue;
    }
    const TermCounts& read = summed.counts.terms[t];
    EXPECT(read.tokens == tokens && read.weighted == weighted, "tokens of term %zu", t);
    FixedSum all = weights;
    add_ones(all, static_cast<std::uint64_t>(tokens - weighted));
    too_large = too_large || weights.too_large() || (weighted != 0 && all.too_large());
    any_too_large = any_too_large || too_large;
    if (!too_large) EXPECT(read.weights == weights, "weights of term %zu", t);
  }
  EXPECT(summed.too_many_tokens == any_too_many, "tokens of 2^63 or more");
  if (!any_too_many) EXPECT(summed.weights_too_large == any_too_large, "weights of 2^55 or more");
}

void check_losses(const MessageLayout& layout, const std::vector<Rank>& ranks, const Summed& summed) {
  for (std::size_t slot = 0; slot < layout.slots(); ++slot) {
    for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
      UInt128 tokens = 0;
      std::uint64_t nonfinite = 0;
      std::uint64_t unaudited = 0;
      FixedSum sum;  // a part that is too large by itself counts as one that is not finite, and adds nothing
      for (const Rank& rank : ranks) {
        if (slot >= rank.losses.size()) continue;
        const TermLosses& losses = rank.losses[slot][t];
        tokens += losses.tokens;
        unaudited += losses.unaudited;
        nonfinite += losses.nonfinite + (losses.sum.too_large() ? 1 : 0);
        if (!losses.sum.too_large()) sum.add(losses.sum);
      }
      if (sum.too_large()) {
        sum = {};
        ++nonfinite;
      }
      const TermLosses& read = summed.losses[slot][t];
      EXPECT(read.tokens == (tokens > INT64_MAX ? std::uint64_t{INT64_MAX} : tokens), "loss tokens, slot %zu", slot);
      EXPECT(read.unaudited == unaudited && read.nonfinite == nonfinite, "flags of losses, slot %zu", slot);
      EXPECT(read.sum == sum, "losses, slot %zu", slot);
    }
  }
}

void check_ranks(const std::vector<Rank>& ranks, const Summed& summed) {
  std::int32_t failed = 0;
  std::int32_t first = -1;
  std::int32_t done = 0;
  std::int32_t empty = 0;
  for (const Rank& rank : ranks) {
    if (rank.part.failed && ++failed == 1) first = rank.part.rank;
    done += rank.part.done ? 1 : 0;
    empty += rank.counts.empty() ? 1 : 0;
  }
  EXPECT(summed.failures.count == failed && summed.failures.first == (failed == 1 ? first : -1), "failures");
  EXPECT(summed.done_ranks == done && summed.empty_ranks == empty, "done and empty ranks");
}

// One rank says something else: all the others find it, and name it where they can.
void check_deviation(Reader& in, const MessageLayout& layout, std::vector<Rank>& ranks, std::uint64_t roll) {
  const auto n_ranks = static_cast<std::int32_t>(ranks.size());
  Rank& odd = ranks[in.below(ranks.size())];
  if (odd.part.failed || ranks.size() < 2) return;
  const std::uint64_t other = mix(2, word(in));
  odd.part.roll = other;
  const std::vector<std::uint64_t> words = sum_of(layout, ranks);
  const Summed summed = decode(layout, words);
  const auto speaking = n_ranks - summed.failures.count;
  if (speaking < 2) return;
  const std::optional<std::string> who = summed.deviation(roll, n_ranks);
  EXPECT(who.has_value(), "a rank with another roll call was not noticed");
  EXPECT(summed.deviation(other, n_ranks).has_value(), "the rank itself did not notice");
  // Of two, each would name the other.
  const std::string right = speaking == 2 ? "the two ranks differ" : format("rank %d differs", odd.part.rank);
  EXPECT(*who == right, "%s, not %s", who->c_str(), right.c_str());
}

}  // namespace

void sum_real_messages(Reader& in) {
  const MessageLayout layout = a_layout(in);
  const std::size_t copies = 1 + in.below(3);
  const std::uint64_t roll = mix(1, word(in));  // as well mixed as a real one
  std::vector<Rank> ranks;
  for (std::size_t n = 1 + in.below(4); n > 0; --n) {
    ranks.push_back(make_rank(in, layout, static_cast<std::int32_t>(ranks.size())));
    ranks.back().part.roll = roll;
  }
  const auto n_ranks = static_cast<std::int32_t>(ranks.size());
  const std::vector<std::uint64_t> words = sum_of(layout, ranks);
  const Summed summed = decode(layout, words);
  check_counts(layout, ranks, summed);
  check_losses(layout, ranks, summed);
  check_ranks(ranks, summed);
  EXPECT(summed.copies_agree, "nobody has copies");
  const std::optional<std::string> who = summed.deviation(roll, n_ranks);
  EXPECT(!who, "all said the same, but %s", who->c_str());
  check_deviation(in, layout, ranks, roll);

  // Each rank as so many copies, of which one may have counted something else.
  std::vector<Rank> copied;
  for (const Rank& rank : ranks) {
    for (std::size_t index = 0; index < copies; ++index) {
      copied.push_back(rank);
      copied.back().part.copies = static_cast<std::int32_t>(copies);
      copied.back().part.copy_index = static_cast<std::int32_t>(index);
    }
  }
  const bool differs = copies > 1 && in.coin();
  if (differs) copied[in.below(copied.size())].counts.microbatches += 1;
  const std::vector<std::uint64_t> all = sum_of(layout, copied);
  EXPECT(decode(layout, all).copies_agree != differs, "copies: %d", differs ? 1 : 0);
}

}  // namespace fuzz
