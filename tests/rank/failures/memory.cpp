// SPDX-License-Identifier: Apache-2.0
// Every allocation of every call of a step fails once on one rank: its first, its second, and so on until the call
// makes no more. Each time on a context of its own.
#include "failures/memory.hpp"

#include <array>
#include <vector>

#include "failures/row.hpp"
#include "failures/scenarios.hpp"
#include "support/failing_allocations.hpp"

namespace failures {
namespace {

using failing_allocations::InLibrary;

constexpr const char* kCalls[] = {"count", "count_add", "open_loss", "reduce",    "wait",     "factor", "cross_entropy",
                                  "loss",  "scale",     "flush",     "wait_loss", "finalize", "free"};

class Round {
 public:
  Round(Play& play, std::string call, int failing) : play_(play), call_(std::move(call)), failing_(failing) {}

  // Was there an allocation to fail, on the rank that fails them?
  bool run(const tokavg_config_t& config) {
    auto* const nothing = reinterpret_cast<tokavg_context_t*>(this);
    tokavg_context_t* context = nothing;
    one("init", nullptr, [&] { return tokavg_init(&config, &context); });
    play_.also("untouched", context == nothing);
    if (context == nothing) context = nullptr;
    // A rank that fails ahead of the others' tokavg_init would be heard of there.
    meet();
    if (context != nullptr) step(context);
    one("free", nullptr, [&] { return tokavg_free(context); });
    return meet();
  }

 private:
  // All ranks: has an allocation failed?
  bool meet() {
    std::array<double, 1> hit = {hit_ ? 1.0 : 0.0};
    play_.team().sum(hit);
    return hit[0] > 0;
  }

  template <typename Body>
  void one(const char* name, tokavg_context_t* context, const Body& body) {
    const bool fails = play_.is_victim() && name == call_;
    play_.call(call_ + "." + std::to_string(failing_) + "." + name, context, [&] {
      const InLibrary library(fails ? failing_ : 0);
      const tokavg_status_t status = body();
      if (fails && library.made() >= failing_) hit_ = true;
      return status;
    });
    play_.also("fails", fails && hit_);
  }

  void step(tokavg_context_t* context) {
    Row row(3);
    tokavg_ticket_t ticket = 0;
    double factor = 0;
    one("count", context, [&] { return tokavg_count(context, &row.as_labels, nullptr); });
    one("count_add", context, [&] { return tokavg_count_add(context, 0, 2, 0.0, 1); });
    one("open_loss", context, [&] { return loss(context, TOKAVG_OPEN, 1); });
    one("reduce", context, [&] { return tokavg_reduce(context, nullptr, nullptr, &ticket); });
    tokavg_result_t result{};
    result.struct_size = static_cast<std::uint32_t>(sizeof result);
    one("wait", context, [&] { return tokavg_wait(context, ticket, TOKAVG_WAIT_COUNT, -1, &result); });
    play_.also("tokens", result.tokens[0]);
    play_.also("expected_tokens", 4 * play_.ranks());
    play_.also("first_failed_rank", result.first_failed_rank);
    one("factor", context, [&] { return tokavg_factor(context, ticket, 0, TOKAVG_FACTOR_SCALE, &factor); });
    one("cross_entropy", context, [&] { return tokavg_cross_entropy(context, ticket, &row.ce, nullptr); });
    play_.also("gradient_untouched", row.gradient.front() == 7.0F);
    one("loss", context, [&] { return loss(context, ticket, 1); });
    one("scale", context, [&] { return scale(context, ticket); });
    one("flush", context, [&] { return tokavg_flush(context, nullptr); });
    one("wait_loss", context, [&] { return tokavg_wait(context, ticket, TOKAVG_WAIT_LOSS, -1, &result); });
    one("finalize", context, [&] { return tokavg_finalize(context); });
  }

  static tokavg_status_t loss(tokavg_context_t* context, tokavg_ticket_t ticket, std::int64_t tokens) {
    double value = 0.5;
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    loss.kind = TOKAVG_LOSS_SUM;
    loss.losses.data = &value;
    loss.losses.dtype = TOKAVG_DTYPE_F64;
    loss.tokens = tokens;
    return tokavg_loss(context, ticket, &loss, nullptr);
  }

  static tokavg_status_t scale(tokavg_context_t* context, tokavg_ticket_t ticket) {
    float gradient = 1;
    const tokavg_scale_item_t item = {&gradient, 1, TOKAVG_DTYPE_F32, TOKAVG_MEMORY_HOST};
    tokavg_scale_t scale{};
    scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
    scale.item_size = static_cast<std::uint32_t>(sizeof item);
    scale.items = &item;
    scale.n_items = 1;
    scale.kind = TOKAVG_FACTOR_REPORT;
    return tokavg_scale(context, ticket, &scale, nullptr);
  }

  Play& play_;
  const std::string call_;
  const int failing_;
  bool hit_ = false;
};

// Nothing of the library's may be left when all ranks are done with all contexts.
void note_alive(Play& play, const char* tag) {
  std::array<double, 1> all_here = {0};
  play.team().sum(all_here);
  play.call(tag, nullptr, [] { return static_cast<tokavg_status_t>(TOKAVG_OK); });
  play.also("alive", failing_allocations::alive());
  play.team().sum(all_here);
}

// Rank 0's, on all ranks. In halves, which a double holds.
const void* share(Play& play, const void* of_rank_0) {
  const auto bits = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(of_rank_0));
  std::array<double, 2> halves = {static_cast<double>(bits >> 32), static_cast<double>(bits & 0xffffffffU)};
  play.team().sum(halves);
  return reinterpret_cast<const void*>((static_cast<std::uintptr_t>(halves[0]) << 32) |
                                       static_cast<std::uintptr_t>(halves[1]));
}

}  // namespace

void sweep_call(Play& play, const std::string& call, const MakeConfig& make_config) {
  constexpr int kMost = 500;
  int failing = 1;
  while (failing < kMost && Round(play, call, failing).run(make_config())) ++failing;
  play.call("made." + call, nullptr, [] { return static_cast<tokavg_status_t>(TOKAVG_OK); });
  play.also("allocations", failing - 1);
}

void memory_failures(Play& play) {
  // What the first context leaves, as a thread that is started once, stays.
  static_cast<void>(Round(play, "none", 0).run(play.config()));
  note_alive(play, "alive.before");
  for (const char* call : kCalls) sweep_call(play, call, [&] { return play.config(); });
  note_alive(play, "alive.after");
}

// A group for each context: who fails before the others hear of it has made fewer contexts than they.
void memory_init(Play& play) {
  std::vector<tokavg_threads_t*> groups;
  sweep_call(play, "init", [&] {
    tokavg_threads_t* group = nullptr;
    if (play.rank() == 0) tokavg_threads_create(play.ranks(), &group);
    if (play.rank() == 0) groups.push_back(group);
    tokavg_config_t config = play.config();
    config.comm = share(play, group);
    // Who comes first makes what all share; so that the same allocations are counted in each round it is another rank.
    if (play.is_victim()) sleep_ms(20);
    return config;
  });
  for (tokavg_threads_t* group : groups) tokavg_threads_free(group);
}

}  // namespace failures
