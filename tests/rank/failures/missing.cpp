// SPDX-License-Identifier: Apache-2.0
// A rank that does not come, to tokavg_init and to a step.
#include <csignal>

#include "failures/scenarios.hpp"

namespace failures {
namespace {

// Until the others have been judged by the clock; they must not need this rank for anything.
void stay_away(const Play& play) { play.others_are_done(false, static_cast<int>(play.options().deadline_ms) * 10); }

// All of them must answer at once.
void try_everything(Play& play, tokavg_context_t* context, tokavg_ticket_t ticket) {
  play.call("again.count", context, [&] { return tokavg_count_add(context, 0, 1, 0.0, 1); });
  play.call("again.discard", context, [&] { return tokavg_discard(context); });
  play.reduce("again.reduce", context, 9);
  play.call("again.flush", context, [&] { return tokavg_flush(context, nullptr); });
  play.call("again.progress", context, [&] { return tokavg_progress(context); });
  play.wait("again.wait", context, ticket);
  double factor = 0;
  play.call("again.factor", context, [&] { return tokavg_factor(context, ticket, 0, TOKAVG_FACTOR_SCALE, &factor); });
  play.call("again.finalize", context, [&] { return tokavg_finalize(context); });
}

void step_missing(Play& play, bool dies) {
  tokavg_context_t* context = play.init();
  play.good_step("good", context, 1);
  if (play.is_victim()) {
    if (dies) raise(SIGKILL);
    stay_away(play);
    const tokavg_ticket_t ticket = play.reduce("late.reduce", context, 2);
    play.wait("late", context, ticket);
  } else {
    play.call("count", context, [&] { return tokavg_count_add(context, 0, 1, 0.0, 1); });
    const tokavg_ticket_t ticket = play.reduce("reduce", context, 2);
    play.wait("missing", context, ticket);
    try_everything(play, context, ticket);
  }
  play.free("free", context);
}

}  // namespace

void init_missing(Play& play) {
  if (play.is_victim()) return stay_away(play);
  tokavg_context_t* context = play.init("missing");
  play.free("free", context);
}

// This one calls tokavg_init, but has no communicator: it returns at once, and nobody can tell the others.
void init_unreachable(Play& play) {
  tokavg_config_t config = play.config();
  if (play.is_victim()) config.comm = nullptr;
  tokavg_context_t* context = play.init(play.is_victim() ? "unreachable" : "missing", config);
  play.free("free", context);
}

void reduce_missing(Play& play) { step_missing(play, false); }
void reduce_killed(Play& play) { step_missing(play, true); }

// More reductions than tickets: reduce itself waits, for a rank that is late and for one that does not come.
void ring_late(Play& play) {
  tokavg_config_t config = play.config();
  config.in_flight = 2;
  tokavg_context_t* context = play.init("init", config);
  if (play.is_victim()) sleep_ms(play.options().deadline_ms / 2);
  tokavg_ticket_t ticket = 0;
  for (int i = 1; i <= 4; ++i) {
    play.call("count", context, [&] { return tokavg_count_add(context, 0, play.rank() + 1, 0.0, 1); });
    ticket = play.reduce("reduce." + std::to_string(i), context, i);
  }
  play.wait("newest", context, ticket);
  play.wait("kept", context, ticket - 1);
  play.wait("stale", context, ticket - 2);
  play.good_step("next", context, 5);
  play.call("finalize", context, [&] { return tokavg_finalize(context); });
  play.free("free", context);
}

void ring_missing(Play& play) {
  tokavg_config_t config = play.config();
  config.in_flight = 2;
  tokavg_context_t* context = play.init("init", config);
  play.good_step("good", context, 1);
  if (play.is_victim()) {
    stay_away(play);
  } else {
    play.reduce("first", context, 2);
    play.reduce("second", context, 3);
    play.reduce("missing", context, 4);
    try_everything(play, context, 2);
  }
  play.free("free", context);
}

}  // namespace failures
