// SPDX-License-Identifier: Apache-2.0
// FAULT.PHASE: two good steps and tokavg_finalize, but for what happens to one rank in one phase.
#include <algorithm>
#include <iterator>
#include <thread>

#include "failures/scenarios.hpp"
#include "failures/strike.hpp"

namespace failures {
namespace {

enum class Phase { kInit, kCount, kReducing, kWaiting, kFinalizing };

struct Case {
  Fault fault;
  Phase phase;
};

std::optional<Case> find_case(const std::string& name) {
  constexpr const char* kPhases[] = {"init", "count", "reducing", "waiting", "finalizing"};
  const std::size_t dot = name.find('.');
  const std::optional<Fault> fault = find_fault(name.substr(0, dot));
  if (dot == std::string::npos || !fault) return std::nullopt;
  const auto* const phase = std::find(std::begin(kPhases), std::end(kPhases), name.substr(dot + 1));
  if (phase == std::end(kPhases)) return std::nullopt;
  const Case found = {*fault, static_cast<Phase>(phase - std::begin(kPhases))};
  // A rank that comes late to a wait, or never, does so after its reduce: that is the phase before.
  if (found.phase == Phase::kWaiting && !hits_process(found.fault)) return std::nullopt;
  return found;
}

class FaultInPhase {
 public:
  FaultInPhase(Play& play, Case what) : play_(play), case_(what) {}

  void run() {
    if (!between(Phase::kInit)) return;
    tokavg_context_t* context = play_.init();
    if (context != nullptr) take_steps(context);
    play_.free("free", context);
  }

 private:
  static constexpr int kHeldMs = 250;
  static constexpr int kInsideMs = 100;

  [[nodiscard]] bool is_here(Phase phase) const { return case_.phase == phase; }
  // A signal hits inside of a call where the phase is one.
  [[nodiscard]] bool hits_inside(Phase phase) const {
    return is_here(phase) && hits_process(case_.fault) && phase >= Phase::kWaiting;
  }

  void take_steps(tokavg_context_t* context) {
    play_.good_step("good", context, 1);
    play_.call("count", context, [&] { return tokavg_count_add(context, 0, play_.rank() + 1, 0.0, 1); });
    if (!between(Phase::kCount)) return;
    hold_back(Phase::kWaiting);
    const tokavg_ticket_t ticket = play_.reduce("reduce", context, 2);
    if (!between(Phase::kReducing)) return;
    inside(Phase::kWaiting, [&] { play_.wait("step", context, ticket); });
    play_.also("expected_tokens", play_.ranks() * (play_.ranks() + 1) / 2);
    if (!between(Phase::kFinalizing)) return;
    hold_back(Phase::kFinalizing);
    inside(Phase::kFinalizing, [&] { play_.call("finalize", context, [&] { return tokavg_finalize(context); }); });
    play_.factor("after.factor", context, ticket);
    play_.loss_sum("after.loss", context, ticket);
    play_.reduce("after.reduce", context, 3);
  }

  // false: this rank makes no call any more.
  bool between(Phase phase) {
    if (!play_.is_victim() || !is_here(phase) || hits_inside(phase)) return true;
    play_.note_strike();
    const std::int64_t deadline_ms = play_.options().deadline_ms;
    if (hits_process(case_.fault)) {
      strike_process(case_.fault, deadline_ms);
    } else if (case_.fault == Fault::kSlow) {
      sleep_ms(deadline_ms / 3);
    } else {
      play_.others_are_done(false, static_cast<int>(deadline_ms) * 10);
    }
    return case_.fault != Fault::kAbsent;
  }

  // The victim is hit inside of a call if the call takes its time: another rank comes later.
  void hold_back(Phase phase) const {
    const bool holds = play_.rank() == (play_.options().victim + 1) % play_.ranks();
    if (holds && hits_inside(phase)) sleep_ms(kHeldMs);
  }

  template <typename Call>
  void inside(Phase phase, const Call& call) {
    std::thread other;
    if (play_.is_victim() && hits_inside(phase)) {
      other = std::thread([this] {
        sleep_ms(kInsideMs);
        play_.note_strike();
        strike_process(case_.fault, play_.options().deadline_ms);
      });
    }
    call();
    if (other.joinable()) other.join();
  }

  Play& play_;
  const Case case_;
};

void fault_in_phase(Play& play) { FaultInPhase(play, *find_case(play.options().scenario)).run(); }

}  // namespace

Scenario find_fault_in_phase(const std::string& name) { return find_case(name) ? fault_in_phase : nullptr; }

}  // namespace failures
