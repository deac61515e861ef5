// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "calls/table.hpp"
#include "tokavg/tokavg.h"

// What exists in one execution, and what is known about it from the statuses of the calls alone.
namespace fuzz {

__extension__ using Tokens = __int128;

struct Counts {
  std::array<Tokens, TOKAVG_MAX_TERMS> tokens{};
  std::uint64_t microbatches = 0;
};

// Whether a step must fail: a call that changes it has.
enum class Mark { kClean, kPerhaps, kFailed };

struct Step {
  Counts counts;
  Mark mark = Mark::kClean;
  bool weighted = false;
  bool released = false;
  double accumulation_divisor = 1;
};

// A context as one rank has it.
struct Rank {
  tokavg_context_t* ctx = nullptr;
  tokavg_config_t config{};  // with the defaults filled in
  std::size_t team = 0;      // which context it is a part of
  bool dependable = false;   // its sums complete at once
  bool live = true;          // not freed
  bool finalized = false;
  tokavg_status_t dead = TOKAVG_OK;

  Counts open;
  Counts before;  // the latest microbatch
  bool can_discard = false;
  bool weighted = false;
  Mark mark = Mark::kClean;
  std::vector<Step> steps;  // by ticket - 1

  void blame(Mark more) {
    if (mark != Mark::kFailed && more != Mark::kClean) mark = more;
  }
  [[nodiscard]] bool healthy() const { return live && !finalized && dead == TOKAVG_OK; }
};

struct World {
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::unique_ptr<TableOfOne>> tables;
  std::vector<tokavg_threads_t*> groups;  // live
  std::size_t n_teams = 0;
  bool described = false;  // once is enough: it is slow

  [[nodiscard]] std::vector<const Rank*> team_of(const Rank& rank) const {
    std::vector<const Rank*> members;
    for (const auto& each : ranks) {
      if (each->team == rank.team) members.push_back(each.get());
    }
    return members;
  }
};

}  // namespace fuzz
