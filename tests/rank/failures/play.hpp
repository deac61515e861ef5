// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "contract/team.hpp"

// One rank's part in a scenario: it calls the library and keeps what came of it; judge.py decides.
namespace failures {

using contract::Team;

struct Options {
  std::string folder;  // result files: <rank>.json
  std::string scenario;
  int victim = 0;  // the rank that does otherwise
  std::int64_t deadline_ms = 1500;
  bool names_ranks = true;  // can what carries the sums tell who is missing?
};

class Play {
 public:
  Play(const Options& options, Team& team) : options_(options), team_(team) {}

  [[nodiscard]] int rank() const { return team_.rank(); }
  [[nodiscard]] int ranks() const { return team_.ranks(); }
  [[nodiscard]] bool is_victim() const { return rank() == options_.victim; }
  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] Team& team() const { return team_; }

  // A configuration of this rank: mean, the deadline of the options.
  tokavg_config_t config();
  tokavg_context_t* init(const char* tag, const tokavg_config_t& config);
  tokavg_context_t* init(const char* tag = "init") { return init(tag, config()); }

  // Calls and keeps status, duration and, where it is not OK, the text of the context.
  tokavg_status_t call(const std::string& tag, tokavg_context_t* context, const std::function<tokavg_status_t()>& body);
  // Further facts of the latest call.
  void also(const char* name, nlohmann::json value) { calls_.back()[name] = std::move(value); }

  // tokavg_reduce with a step_id; the ticket is kept too.
  tokavg_ticket_t reduce(const std::string& tag, tokavg_context_t* context, std::int64_t step_id);
  tokavg_status_t wait(const std::string& tag, tokavg_context_t* context, tokavg_ticket_t ticket,
                       std::int32_t what = TOKAVG_WAIT_COUNT);
  // Every rank counts rank + 1 tokens, reduces and waits: right, if nothing is wrong with the context.
  void good_step(const std::string& tag, tokavg_context_t* context, std::int64_t step_id);
  // What a call that fails must not write to.
  void factor(const std::string& tag, tokavg_context_t* context, tokavg_ticket_t ticket);
  void loss_sum(const std::string& tag, tokavg_context_t* context, tokavg_ticket_t ticket);
  void free(const std::string& tag, tokavg_context_t* context);

  // Which process this is, for it may leave nothing else: <rank>.pid.
  void announce() const;
  // That something was done to this rank, now: <rank>.struck.
  void note_strike() const;
  // Until the others have written their results: nobody leaves, and no launcher ends a job, before all are judged.
  void write_result() const;
  bool others_are_done(bool without_victim, int patience_ms) const;

 private:
  [[nodiscard]] std::string file(int rank, const char* suffix) const;

  const Options& options_;
  Team& team_;
  nlohmann::json calls_ = nlohmann::json::array();
};

void sleep_ms(std::int64_t duration);

using Scenario = void (*)(Play&);
// nullptr: there is none of this name.
Scenario find_scenario(const std::string& name);
// Plays and writes the result.
void play(const Options& options, Team& team);

}  // namespace failures
