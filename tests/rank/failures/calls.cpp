// SPDX-License-Identifier: Apache-2.0
// One rank calls once too often, or in another order: in the phases that desync.cpp leaves out. Each on a context of
// its own.
#include "failures/scenarios.hpp"

namespace failures {
namespace {

class Calls {
 public:
  Calls(Play& play, std::string name) : play_(play), name_(std::move(name)), context_(play.init(tag("init").c_str())) {
    play_.good_step(tag("good"), context_, 1);
  }
  ~Calls() {
    play_.factor(tag("after.factor"), context_, 1);
    play_.free(tag("free"), context_);
  }
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;

  [[nodiscard]] std::string tag(const char* call) const { return name_ + "." + call; }
  tokavg_ticket_t reduce(std::int64_t step_id) {
    play_.call(tag("count"), context_, [this] { return tokavg_count_add(context_, 0, 1, 0.0, 1); });
    return play_.reduce(tag("reduce"), context_, step_id);
  }
  void wait(const char* call, tokavg_ticket_t ticket) { play_.wait(tag(call), context_, ticket); }
  void flush() {
    play_.call(tag("flush"), context_, [this] { return tokavg_flush(context_, nullptr); });
  }
  void finalize(const char* call) {
    play_.call(tag(call), context_, [this] { return tokavg_finalize(context_); });
  }
  void good_step(std::int64_t step_id) { play_.good_step(tag("next"), context_, step_id); }
  [[nodiscard]] tokavg_context_t* context() const { return context_; }

 private:
  Play& play_;
  const std::string name_;
  tokavg_context_t* context_;
};

// A step that the others do not take, and that they find when they finalize.
void one_more_reduce(Play& play) {
  Calls calls(play, "extra_finalizing");
  if (play.is_victim()) calls.reduce(2);
  calls.finalize("differs");
}

// What is answered on this rank alone may be asked as often as one likes.
void one_more_wait(Play& play) {
  Calls calls(play, "extra_waiting");
  const tokavg_ticket_t ticket = calls.reduce(2);
  calls.wait("fine.wait", ticket);
  if (play.is_victim()) calls.wait("fine.again", ticket);
  calls.finalize("fine.finalize");
  if (play.is_victim()) calls.finalize("state.finalize");
}

void flush_before_reduce(Play& play) {
  Calls calls(play, "order_count");
  if (play.is_victim()) calls.flush();
  const tokavg_ticket_t ticket = calls.reduce(2);
  if (!play.is_victim()) calls.flush();
  calls.wait("differs", ticket);
}

void finalize_before_reduce(Play& play) {
  Calls calls(play, "order_reducing");
  if (play.is_victim()) return calls.finalize("differs");
  calls.wait("differs", calls.reduce(2));
}

void finalize_before_flush(Play& play) {
  Calls calls(play, "order_finalizing");
  if (!play.is_victim()) calls.flush();
  calls.finalize("differs");
}

void wait_for_newest_first(Play& play) {
  Calls calls(play, "order_waiting");
  const tokavg_ticket_t first = calls.reduce(2);
  const tokavg_ticket_t second = calls.reduce(3);
  calls.wait("fine.first", play.is_victim() ? second : first);
  calls.wait("fine.second", play.is_victim() ? first : second);
  calls.finalize("fine.finalize");
}

// Two contexts that differ, made in another order.
void contexts_in_another_order(Play& play) {
  for (int i = 0; i < 2; ++i) {
    tokavg_config_t config = play.config();
    config.terms = play.is_victim() ? 2 - i : 1 + i;
    play.free("order_init.free", play.init("order_init.differs", config));
  }
}

// Questions that are wrong are this rank's own matter: the step that is open is not.
void bad_questions(Play& play) {
  Calls calls(play, "failed_waiting");
  const tokavg_ticket_t ticket = calls.reduce(2);
  if (play.is_victim()) {
    play.wait(calls.tag("wrong.what"), calls.context(), ticket, 77);
    play.wait(calls.tag("wrong.ticket"), calls.context(), 99);
    play.factor(calls.tag("wrong.factor"), calls.context(), 99);
  }
  calls.wait("fine.wait", ticket);
  calls.good_step(3);
  calls.finalize("fine.finalize");
}

// A label that is found when the last step's message has left: tokavg_finalize carries it.
void fails_before_finalize(Play& play) {
  Calls calls(play, "failed_finalizing");
  if (play.is_victim()) {
    play.call(calls.tag("wrong.count"), calls.context(),
              [&] { return tokavg_count_add(calls.context(), 0, -1, 0.0, 1); });
  }
  calls.finalize("told");
}

}  // namespace

void other_calls(Play& play) {
  one_more_reduce(play);
  one_more_wait(play);
  flush_before_reduce(play);
  finalize_before_reduce(play);
  finalize_before_flush(play);
  wait_for_newest_first(play);
  contexts_in_another_order(play);
  bad_questions(play);
  fails_before_finalize(play);
}

// A context that one rank alone makes: its other one, and the others, do not suffer.
void extra_init(Play& play) {
  Calls calls(play, "extra_init");
  if (play.is_victim()) {
    // The others wait in their next step meanwhile.
    tokavg_config_t config = play.config();
    config.timeout_ms /= 2;
    play.free("extra_init.second_free", play.init("extra_init.alone", config));
  }
  calls.good_step(2);
  calls.finalize("fine.finalize");
}

}  // namespace failures
