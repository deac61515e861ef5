// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "base/message_words.hpp"
#include "tokavg/types.h"

// What a step is made of, from the first label to the last loss.
namespace tokavg {

using Clock = std::chrono::steady_clock;

template <typename Value>
using PerTerm = std::array<Value, TOKAVG_MAX_TERMS>;

// Losses of one term, recorded and not yet sent, or received from all ranks.
struct TermLosses {
  std::uint64_t tokens = 0;
  std::uint64_t unaudited = 0;  // calls that did not say how many tokens they hold
  std::uint64_t nonfinite = 0;
  FixedSum sum;

  void add(const TermLosses& other) noexcept;
  [[nodiscard]] bool any() const noexcept { return tokens != 0 || nonfinite != 0 || unaudited != 0; }
};

struct StepCounts {
  PerTerm<TermCounts> terms{};
  std::uint64_t microbatches = 0;

  [[nodiscard]] bool empty() const noexcept;  // no scored token in any term
};

// The step that is being counted on this rank.
class OpenStep {
 public:
  // Begins `microbatches` microbatches (0: what follows belongs to the one already begun).
  void begin(std::uint64_t microbatches);
  void add(std::int32_t term, std::uint64_t tokens, std::uint64_t weighted, const FixedSum& weights);
  void record(std::int32_t term, const TermLosses& losses) noexcept;
  void discard();

  [[nodiscard]] bool has_microbatch() const noexcept { return has_microbatch_; }
  [[nodiscard]] const StepCounts& counts() const noexcept { return counts_; }
  [[nodiscard]] const PerTerm<TermLosses>& losses() const noexcept { return losses_; }

 private:
  // What a term, and the number of microbatches, were before the latest microbatch began: going back to them removes n,
  // c, S and bad values together, exactly. A term is saved when that microbatch first adds to it, for most never do.
  struct Before {
    TermCounts counts;
    TermLosses losses;
  };
  void save(std::size_t term) noexcept;

  StepCounts counts_;
  PerTerm<TermLosses> losses_{};
  PerTerm<Before> before_{};
  std::bitset<TOKAVG_MAX_TERMS> saved_;
  std::uint64_t microbatches_before_ = 0;
  bool has_microbatch_ = false;
};

// A step that was reduced, as long as it is kept.
struct Step {
  tokavg_ticket_t ticket = 0;
  std::uint64_t sequence = 0;  // of its message
  std::int64_t step_id = 0;
  double accumulation_divisor = 1;
  StepCounts local;
  PerTerm<TermLosses> local_losses{};    // all that this rank recorded
  PerTerm<TermLosses> unsent{};          // the part of it that no message has carried yet
  PerTerm<std::uint64_t> open_losses{};  // tokens that were recorded before it was closed

  // From the reduction.
  bool complete = false;
  std::optional<Error> failure;       // ends the step
  std::optional<Error> loss_failure;  // reported by a flush, after the counts were fine
  StepCounts sums;
  PerTerm<double> divisors{};  // Z
  PerTerm<double> weight_sums{};
  PerTerm<std::uint64_t> bad_labels{};
  std::int32_t empty_ranks = 0;
  std::int32_t done_ranks = 0;
  std::int32_t failed_ranks = 0;
  std::int32_t first_failed_rank = -1;
  PerTerm<TermLosses> losses{};  // received from all ranks

  // The audit's verdict: on this step, or on an older one whose losses were found wrong when this one was the newest.
  tokavg_ticket_t audit_ticket = 0;
  std::uint64_t audit_counted = 0;
  std::uint64_t audit_recorded = 0;
  bool audited = false;  // this step's own losses were found wrong, and that was told

  // Made on a device.
  std::int32_t slot = -1;
  std::int32_t box = -1;
  bool captured = false;            // into a graph, whose replays close the step anew
  std::uint64_t reduce_number = 0;  // of the replay, or of the step, that is in here

  bool released = false;
  bool scaled_before_backward = false;
  bool scaled_after_backward = false;

  Clock::time_point reduced_at;
  double exposed_seconds = 0;
  double reduce_seconds = 0;

  [[nodiscard]] bool nothing_to_divide(std::int32_t terms) const noexcept;  // Z = 0 in every term
  [[nodiscard]] bool losses_complete(std::int32_t terms) const noexcept;
};

}  // namespace tokavg
