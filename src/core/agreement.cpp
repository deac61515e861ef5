// SPDX-License-Identifier: Apache-2.0
#include "core/agreement.hpp"

#include <array>
#include <bit>
#include <span>

#include "core/rollcall.hpp"
#include "tokavg/version.h"

namespace tokavg {
namespace {

// Fixed for all versions: wire version, failures, and where the fields begin.
constexpr std::size_t kWire = 0;
constexpr std::size_t kFailed = 3;
constexpr std::size_t kLabelRanks = 6;
constexpr std::size_t kCopyIndices = 7;
constexpr std::size_t kFields = 16;

struct Field {
  const char* name;
  std::uint64_t value;
  double shown;
};

// What must be the same on all ranks. Append only.
std::array<Field, 14> fields_of(const Settings& settings) {
  const tokavg_config_t& c = settings.config;
  const auto whole = [](const char* name, std::int64_t value) {
    return Field{name, static_cast<std::uint64_t>(value), static_cast<double>(value)};
  };
  return {whole("ABI version", TOKAVG_ABI_VERSION),
          whole("config.comm_kind", c.comm_kind == TOKAVG_COMM_MPI_FORTRAN ? TOKAVG_COMM_MPI : c.comm_kind),
          whole("config.transport", c.transport), whole("config.device", c.device),
          whole("config.gradient_reduction", c.gradient_reduction), whole("config.gradient_ranks", c.gradient_ranks),
          whole("config.label_copies", c.label_copies), whole("config.microbatch_shards", c.microbatch_shards),
          Field{"config.accumulation_divisor", std::bit_cast<std::uint64_t>(c.accumulation_divisor),
                c.accumulation_divisor},
          whole("config.ignore_index", c.ignore_index), whole("config.divisor", c.divisor),
          whole("config.terms", c.terms), whole("config.in_flight", c.in_flight),
          // Not an option of this version; here so that one that adds a message format can refuse to mix.
          whole("message format", 1)};
}

std::uint64_t wire_hash() { return mix(0x746f6b617667U, kWireVersion); }

std::uint64_t copy_hash(std::int32_t index) { return mix(1, static_cast<std::uint64_t>(index)); }

void check_copies(const Settings& settings, std::span<const std::uint64_t> words, std::int32_t label_ranks) {
  const std::int32_t copies = settings.config.label_copies;
  if (label_ranks == 0) fail(TOKAVG_ERR_CONFIG, "config.asks_only is 1 on all ranks; some rank must hold labels");
  if (label_ranks % copies != 0) {
    fail(TOKAVG_ERR_CONFIG, "config.label_copies is %d, which does not divide the %d ranks that hold labels", copies,
         label_ranks);
  }
  std::uint64_t expected = 0;
  for (std::int32_t index = 0; index < copies; ++index) expected += copy_hash(index);
  expected *= static_cast<std::uint64_t>(label_ranks / copies);
  if (words[kCopyIndices] != expected) {
    fail(
        TOKAVG_ERR_CONFIG,
        "config.label_copy_index: with label_copies %d each index from 0 to %d must be held by %d of the %d ranks that "
        "hold labels; this rank has %d",
        copies, copies - 1, label_ranks / copies, label_ranks, settings.config.label_copy_index);
  }
}

}  // namespace

std::vector<std::uint64_t> offer(const Settings& settings, std::int32_t rank, bool failed) {
  std::vector<std::uint64_t> words(kHandshakeWords, 0);
  add_roll(&words[kWire], wire_hash(), rank);
  if (failed) {
    add_roll(&words[kFailed], 1, rank);
    return words;
  }
  if (settings.config.asks_only == 0) {
    words[kLabelRanks] = 1;
    words[kCopyIndices] = copy_hash(settings.config.label_copy_index);
  }
  std::size_t at = kFields;
  for (const Field& field : fields_of(settings)) {
    add_roll(&words[at], mix(at, field.value), rank);
    at += kRollWords;
  }
  return words;
}

Agreed conclude(const Settings& settings, std::span<const std::uint64_t> words, std::int32_t ranks,
                const std::optional<Error>& own_failure) {
  const std::array<std::uint64_t, kRollWords> nobody{};
  const auto failed = words.subspan<kFailed, kRollWords>();
  if (const auto who = find_deviation(words.subspan<kWire, kRollWords>(), nobody, wire_hash(), ranks)) {
    fail(TOKAVG_ERR_CONFIG,
         "the ranks run versions of tokavg that cannot talk to each other (wire version %llu here): %s; "
         "use one version on all ranks",
         static_cast<unsigned long long>(kWireVersion), who->c_str());
  }
  const Failures failures = read_failures(failed);
  if (failures.count > 0) {
    if (own_failure) throw *own_failure;
    if (failures.first >= 0) {
      fail(TOKAVG_ERR_PEER, "tokavg_init failed on rank %d; its own text says why", failures.first);
    }
    fail(TOKAVG_ERR_PEER, "tokavg_init failed on %d ranks; their own texts say why", failures.count);
  }
  Agreed agreed;
  std::size_t at = kFields;
  for (const Field& field : fields_of(settings)) {
    const std::uint64_t value = mix(at, field.value);
    if (const auto who = find_deviation(words.subspan(at).first<kRollWords>(), failed, value, ranks)) {
      fail(TOKAVG_ERR_CONFIG,
           "%s is not the same on all ranks: it is %.17g on this one, and %s; give all ranks the same", field.name,
           field.shown, who->c_str());
    }
    agreed.config_hash = mix(agreed.config_hash, value);
    at += kRollWords;
  }
  agreed.label_ranks = rank_count(words[kLabelRanks]);
  if (agreed.label_ranks > ranks) {
    fail(TOKAVG_ERR_CONFIG, "more ranks hold labels than the %d that there are: the communicator does not sum right",
         ranks);
  }
  check_copies(settings, words, agreed.label_ranks);
  agreed.gradient_ranks = settings.config.gradient_ranks != 0 ? settings.config.gradient_ranks
                                                              : agreed.label_ranks / settings.config.label_copies;
  return agreed;
}

}  // namespace tokavg
