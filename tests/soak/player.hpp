// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "contract/team.hpp"
#include "soak/plan.hpp"

namespace soak {

// One rank that lives through a plan, and compares what the library says with what the plan says.
class Player {
 public:
  Player(contract::Team& team, const Life& life);
  ~Player();
  Player(const Player&) = delete;
  Player& operator=(const Player&) = delete;

  // The number of steps; throws std::runtime_error that says what was wrong in which.
  int run();

 private:
  struct Kept {
    int step = 0;
    tokavg_ticket_t ticket = 0;
    std::vector<Loss> unrecorded;
  };

  void must(tokavg_status_t status, const char* call);
  [[noreturn]] void fail(const std::string& what) const;
  template <typename Value>
  void equal(const Value& got, const Value& wanted, const char* what) const;

  void count(const Part& part);
  void record(tokavg_ticket_t ticket, const Loss& loss);
  void record_rest(Kept& kept);
  void reduce(const Part& part);
  // False when no rank has data any more.
  bool check(const Kept& kept, bool losses);
  void check_all();

  contract::Team& team_;
  const Life life_;
  tokavg_context_t* context_ = nullptr;
  std::vector<std::int64_t> labels_;
  std::deque<Kept> kept_;  // oldest first
  int step_ = 0;
  bool waits_ = false;  // this rank is done
};

}  // namespace soak
