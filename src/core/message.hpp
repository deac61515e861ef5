// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rollcall.hpp"
#include "core/step.hpp"

// The one message of a step (base/message_words.hpp), made of counts and losses and read again.
namespace tokavg {

// This rank's part. The losses of slot k are those of ticket newest - k.
struct Contribution {
  std::uint64_t roll = 0;
  bool failed = false;
  std::int32_t rank = 0;
  bool holds_labels = true;  // not asks_only
  std::int32_t copies = 1;   // label_copies
  std::int32_t copy_index = 0;
  bool done = false;
  const StepCounts* counts = nullptr;              // of the step being closed; nullptr in a flush
  std::vector<const PerTerm<TermLosses>*> losses;  // by slot; nullptr: none
};

std::vector<std::uint64_t> encode(const MessageLayout& layout, const Contribution& part);

// All ranks' parts added up.
struct Summed {
  std::span<const std::uint64_t> words;
  Failures failures;
  std::int32_t done_ranks = 0;
  std::int32_t empty_ranks = 0;
  bool copies_agree = true;
  bool too_many_tokens = false;  // some term reaches 2^63
  bool weights_too_large = false;
  std::uint64_t bad_weights = 0;
  PerTerm<std::uint64_t> bad_labels{};
  StepCounts counts;
  std::vector<PerTerm<TermLosses>> losses;  // by slot

  // Empty when all ranks that did not fail sent `roll`; else who differs.
  // Without a roll of one's own: whether the others agree among themselves.
  [[nodiscard]] std::optional<std::string> deviation(std::optional<std::uint64_t> roll, std::int32_t ranks) const;
};

Summed decode(const MessageLayout& layout, std::span<const std::uint64_t> words);

}  // namespace tokavg
