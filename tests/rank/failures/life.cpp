// SPDX-License-Identifier: Apache-2.0
// Abort, several contexts, and the ways in which a context ends.
#include <thread>

#include "failures/scenarios.hpp"

namespace failures {

void abort_while_waiting(Play& play) {
  tokavg_config_t config = play.config();
  config.timeout_ms = 20000;
  tokavg_context_t* context = play.init("init", config);
  play.good_step("good", context, 1);
  if (play.is_victim()) {
    play.others_are_done(false, 15000);
    const tokavg_ticket_t ticket = play.reduce("late.reduce", context, 2);
    play.wait("late", context, ticket);
  } else {
    const tokavg_ticket_t ticket = play.reduce("reduce", context, 2);
    std::thread aborter;
    if (play.rank() == (play.options().victim + 1) % play.ranks()) {
      aborter = std::thread([&] {
        sleep_ms(300);
        tokavg_abort(context);
      });
    }
    play.wait("aborted", context, ticket);
    if (aborter.joinable()) aborter.join();
    play.reduce("again.reduce", context, 3);
    play.call("again.flush", context, [&] { return tokavg_flush(context, nullptr); });
  }
  play.free("free", context);
}

// On one communicator, reduced in a different order on each rank: they must never meet each other's messages.
void two_contexts(Play& play) {
  tokavg_context_t* first = play.init("init.first");
  tokavg_context_t* second = play.init("init.second");
  std::int64_t wrong = 0;
  const int rounds = 100;
  for (int round = 1; round <= rounds; ++round) {
    tokavg_ticket_t tickets[2] = {0, 0};
    tokavg_context_t* order[2] = {first, second};
    const bool swapped = (play.rank() + round) % 2 == 0;
    for (int i = 0; i < 2; ++i) {
      const int which = swapped ? 1 - i : i;
      tokavg_count_add(order[which], 0, (which + 1) * (play.rank() + 1), 0.0, 1);
      tokavg_reduce(order[which], nullptr, nullptr, &tickets[which]);
    }
    for (int which = 1; which >= 0; --which) {
      tokavg_result_t result{};
      result.struct_size = static_cast<std::uint32_t>(sizeof result);
      const tokavg_status_t status = tokavg_wait(order[which], tickets[which], TOKAVG_WAIT_COUNT, -1, &result);
      const std::int64_t expected = (which + 1) * play.ranks() * (play.ranks() + 1) / 2;
      if (status != TOKAVG_OK || result.tokens[0] != expected) ++wrong;
    }
  }
  play.call("rounds", first, [] { return static_cast<tokavg_status_t>(TOKAVG_OK); });
  play.also("wrong", wrong);
  play.call("finalize.second", second, [&] { return tokavg_finalize(second); });
  play.good_step("good", first, 1);
  play.call("finalize.first", first, [&] { return tokavg_finalize(first); });
  play.free("free", first);
  play.free("free", second);
}

// Losses that no message has carried yet travel with tokavg_finalize.
void finalize_sends(Play& play) {
  tokavg_context_t* context = play.init();
  play.call("count", context, [&] { return tokavg_count_add(context, 0, play.rank() + 1, 0.0, 1); });
  const tokavg_ticket_t ticket = play.reduce("reduce", context, 1);
  double sum = 2.0 * (play.rank() + 1);
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses.data = &sum;
  loss.losses.dtype = TOKAVG_DTYPE_F64;
  loss.tokens = play.rank() + 1;
  play.call("loss", context, [&] { return tokavg_loss(context, ticket, &loss, nullptr); });
  play.call("finalize", context, [&] { return tokavg_finalize(context); });
  play.wait("after", context, ticket, TOKAVG_WAIT_LOSS);
  double factor = 0;
  play.call("after.factor", context, [&] { return tokavg_factor(context, ticket, 0, TOKAVG_FACTOR_SCALE, &factor); });
  play.call("after.describe", context, [&] { return tokavg_describe(context, nullptr, 0, nullptr); });
  play.call("state.count", context, [&] { return tokavg_count_add(context, 0, 1, 0.0, 1); });
  play.reduce("state.reduce", context, 2);
  play.call("state.loss", context, [&] { return tokavg_loss(context, ticket, &loss, nullptr); });
  play.call("state.flush", context, [&] { return tokavg_flush(context, nullptr); });
  play.call("state.finalize", context, [&] { return tokavg_finalize(context); });
  play.free("free", context);
  play.free("twice", context);
  play.free("null", nullptr);
}

// With a sum in flight that the victim never joins; the next context on the same communicator works.
void free_early(Play& play) {
  for (int round = 1; round <= 5; ++round) {
    tokavg_context_t* context = play.init();
    play.good_step("good", context, 1);
    if (!play.is_victim() || round % 2 == 0) play.reduce("reduce", context, 2);
    play.free("free", context);
  }
  tokavg_context_t* context = play.init();
  play.good_step("good", context, 1);
  play.call("finalize", context, [&] { return tokavg_finalize(context); });
  play.free("free", context);
  play.free("twice", context);
  play.free("null", nullptr);
}

}  // namespace failures
