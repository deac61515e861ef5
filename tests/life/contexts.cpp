// SPDX-License-Identifier: Apache-2.0
#include "life/contexts.hpp"

#include <cstdio>

#include "life/process.hpp"

namespace life {
namespace {

enum Way { kFreed, kFinalized, kRefused, kLostSum, kWays };
constexpr int kFirst = 200;      // after which nothing may grow
constexpr long kMostKib = 3000;  // one a context; a context has more than 10

class Lives {
 public:
  explicit Lives(contract::Team& team) : team_(team) {}

  void run(Way way) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    team_.configure(config);
    config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
    config.flags |= TOKAVG_CONFIG_NO_ENV;
    // One rank differs, so all are refused when most of the context is there.
    if (way == kRefused && team_.rank() == 0) config.terms = 2;
    tokavg_context_t* context = nullptr;
    const tokavg_status_t opened = tokavg_init(&config, &context);
    if (way == kRefused && team_.ranks() > 1) {
      expect(opened == TOKAVG_ERR_CONFIG && context == nullptr, "tokavg_init that must fail", opened, nullptr);
      return;
    }
    expect(opened == TOKAVG_OK, "tokavg_init", opened, nullptr);
    step(context);
    if (way == kFinalized) status(tokavg_finalize(context), "tokavg_finalize", context);
    if (way == kLostSum) {
      tokavg_ticket_t ticket = 0;
      status(tokavg_reduce(context, nullptr, nullptr, &ticket), "tokavg_reduce", context);
    }
    status(tokavg_free(context), "tokavg_free", nullptr);
    expect(tokavg_free(context) == TOKAVG_ERR_HANDLE, "tokavg_free twice", TOKAVG_OK, nullptr);
  }
  [[nodiscard]] bool fine() const { return fine_; }

 private:
  void step(tokavg_context_t* context) {
    tokavg_ticket_t ticket = 0;
    tokavg_result_t result{};
    result.struct_size = static_cast<std::uint32_t>(sizeof result);
    status(tokavg_count_add(context, 0, 3, 0, 1), "tokavg_count_add", context);
    status(tokavg_reduce(context, nullptr, nullptr, &ticket), "tokavg_reduce", context);
    status(tokavg_wait(context, ticket, TOKAVG_WAIT_COUNT, -1, &result), "tokavg_wait", context);
    expect(result.tokens[0] == 3 * team_.ranks(), "tokens", TOKAVG_OK, nullptr);
  }
  void status(tokavg_status_t status, const char* call, tokavg_context_t* context) {
    expect(status == TOKAVG_OK, call, status, context);
  }
  void expect(bool fine, const char* what, tokavg_status_t status, tokavg_context_t* context) {
    if (fine) return;
    if (fine_)
      std::fprintf(stderr, "rank %d: %s: %s\n", team_.rank(), what, contract::status_text(status, context).c_str());
    fine_ = false;
  }

  contract::Team& team_;
  bool fine_ = true;
};

}  // namespace

bool live_and_die(contract::Team& team, int contexts, Ranks ranks) {
  const bool processes = ranks == Ranks::kProcesses;
  Lives lives(team);
  Usage before;
  for (int i = 0; i < contexts && lives.fine(); ++i) {
    if (i == kFirst) before = usage();
    lives.run(static_cast<Way>(i % (processes ? kLostSum : kWays)));
  }
  if (!processes && team.rank() != 0) return lives.fine();  // one looks, for looking opens files
  const std::string growth = growth_since(before, kMostKib);
  if (!growth.empty()) std::fprintf(stderr, "rank %d: after %d contexts: %s\n", team.rank(), contexts, growth.c_str());
  return lives.fine() && growth.empty();
}

}  // namespace life
