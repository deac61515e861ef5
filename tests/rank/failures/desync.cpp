// SPDX-License-Identifier: Apache-2.0
// One rank calls something that the others do not.
#include "failures/scenarios.hpp"

namespace failures {
namespace {

tokavg_context_t* three_good_steps(Play& play) {
  tokavg_context_t* context = play.init();
  for (int step = 1; step <= 3; ++step) play.good_step("good." + std::to_string(step), context, step);
  return context;
}

// What came of it, and that it stays so.
void end(Play& play, tokavg_context_t* context, tokavg_ticket_t ticket) {
  play.wait("desync", context, ticket);
  play.reduce("again.reduce", context, 9);
  play.wait("again.wait", context, ticket);
  play.call("again.finalize", context, [&] { return tokavg_finalize(context); });
  play.free("free", context);
}

}  // namespace

// The third step twice on one rank: the sum with the others' fourth would be silently wrong.
void extra_reduce(Play& play) {
  tokavg_context_t* context = three_good_steps(play);
  end(play, context, play.reduce("reduce", context, play.is_victim() ? 3 : 4));
}

void extra_flush(Play& play) {
  tokavg_context_t* context = three_good_steps(play);
  if (play.is_victim()) play.call("flush", context, [&] { return tokavg_flush(context, nullptr); });
  end(play, context, play.reduce("reduce", context, 4));
}

void other_divisor(Play& play) {
  tokavg_context_t* context = three_good_steps(play);
  tokavg_reduce_t options{};
  options.struct_size = static_cast<std::uint32_t>(sizeof options);
  options.accumulation_divisor = play.is_victim() ? 3.0 : 4.0;
  tokavg_ticket_t ticket = 0;
  play.call("reduce", context, [&] { return tokavg_reduce(context, &options, nullptr, &ticket); });
  end(play, context, ticket);
}

// Two things are wrong with the step: that the ranks are not in the same one comes first, also on the rank that failed.
void desync_and_failure(Play& play) {
  tokavg_context_t* context = three_good_steps(play);
  if (play.rank() == (play.options().victim + 1) % play.ranks()) {
    play.call("fails", context, [&] { return tokavg_count(context, nullptr, nullptr); });
  }
  end(play, context, play.reduce("reduce", context, play.is_victim() ? 3 : 4));
}

}  // namespace failures
