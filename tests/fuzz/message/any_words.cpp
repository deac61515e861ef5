// SPDX-License-Identifier: Apache-2.0
// Words that no rank of this version would send: a newer version, a transport that is broken, memory that is.
#include <cmath>

#include "core/agreement.hpp"
#include "core/message.hpp"
#include "message/parts.hpp"

namespace fuzz {
namespace {

using namespace tokavg;

std::int32_t ranks_of(Reader& in) {
  static constexpr std::int32_t kRanks[] = {1, 2, 3, 4, 8, 40};
  return in.pick(kRanks);
}

void check(const MessageLayout& layout, const Summed& summed) {
  EXPECT(summed.failures.count >= 0, "failed ranks: %d", summed.failures.count);
  EXPECT(summed.failures.first >= -1, "first failed rank: %d", summed.failures.first);
  EXPECT(summed.done_ranks >= 0, "done ranks: %d", summed.done_ranks);
  EXPECT(summed.empty_ranks >= 0, "empty ranks: %d", summed.empty_ranks);
  const FactorRule rule{true, 4, 2, true};
  for (std::size_t t = 0; t < static_cast<std::size_t>(layout.terms); ++t) {
    const TermCounts& counts = summed.counts.terms[t];
    EXPECT(counts.tokens <= INT64_MAX && counts.weighted <= INT64_MAX, "tokens of term %zu", t);
    const double z = rule.divisor(counts, counts.weight_sum());
    EXPECT(!std::isnan(rule.scale(z, 1)) && !std::isnan(FactorRule::report(z)), "factor of term %zu", t);
    for (const PerTerm<TermLosses>& losses : summed.losses) {
      EXPECT(losses[t].tokens <= INT64_MAX, "loss tokens of term %zu", t);
      EXPECT(!losses[t].sum.too_large(), "a loss that is too large travels as one that is not finite");
    }
  }
}

}  // namespace

void decode_any_words(Reader& in) {
  const MessageLayout layout = a_layout(in);
  const std::int32_t ranks = ranks_of(in);
  std::vector<std::uint64_t> words(layout.words());
  for (std::uint64_t& each : words) each = in.empty() ? 0 : word(in);
  const Summed summed = decode(layout, words);
  check(layout, summed);
  static_cast<void>(summed.deviation(in.coin() ? std::optional(word(in)) : std::nullopt, ranks));
}

void conclude_any_words(Reader& in) {
  tokavg_config_t config{};
  config.flags = TOKAVG_CONFIG_NO_ENV;
  Settings settings = make_settings(config);  // not check_settings: this rank may be the one that is wrong
  const std::int32_t ranks = ranks_of(in);
  static constexpr std::int32_t kCopies[] = {1, 2, 3, 4, 8, 4096, INT32_MAX};
  settings.config.label_copies = in.pick(kCopies);
  settings.config.gradient_ranks = in.coin() ? 0 : 3;
  // What `ranks` equal ranks would sum to, or nothing like it, and then some words of it changed.
  std::vector<std::uint64_t> words(kHandshakeWords, 0);
  if (in.coin()) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
      settings.config.label_copy_index = rank % settings.config.label_copies;
      const std::vector<std::uint64_t> part = offer(settings, rank, false);
      for (std::size_t i = 0; i < words.size(); ++i) words[i] += part[i];
    }
  }
  while (!in.empty()) words[in.below(kHandshakeWords)] += word(in);
  const std::optional<Error> error = caught([&] {
    const Agreed agreed = conclude(settings, words, ranks, std::nullopt);
    EXPECT(agreed.label_ranks >= 1 && agreed.label_ranks <= ranks, "label ranks: %d", agreed.label_ranks);
    EXPECT(agreed.gradient_ranks >= 1, "gradient ranks: %d", agreed.gradient_ranks);
  });
  if (!error) return;
  EXPECT(error->status() == TOKAVG_ERR_CONFIG || error->status() == TOKAVG_ERR_PEER, "%d: %s", error->status(),
         error->what());
  EXPECT(error->text().size() > 10, "%s", error->what());
}

}  // namespace fuzz
