// SPDX-License-Identifier: Apache-2.0
// Ranks whose configurations do not fit together, one field after the other.
#include "failures/scenarios.hpp"

namespace failures {
namespace {

struct Field {
  const char* name;
  void (*set)(tokavg_config_t& config);
};

// A value that is legal by itself.
const Field kFields[] = {
    {"gradient_reduction", [](tokavg_config_t& c) { c.gradient_reduction = TOKAVG_GRADIENT_SUM; }},
    {"gradient_ranks", [](tokavg_config_t& c) { c.gradient_ranks = 5; }},
    {"label_copies", [](tokavg_config_t& c) { c.label_copies = 2; }},
    {"microbatch_shards", [](tokavg_config_t& c) { c.microbatch_shards = 2; }},
    {"accumulation_divisor", [](tokavg_config_t& c) { c.accumulation_divisor = 2.5; }},
    {"ignore_index", [](tokavg_config_t& c) { c.ignore_index = -1; }},
    {"divisor", [](tokavg_config_t& c) { c.divisor = TOKAVG_DIVISOR_WEIGHTS; }},
    {"terms", [](tokavg_config_t& c) { c.terms = 2; }},
    {"in_flight", [](tokavg_config_t& c) { c.in_flight = 7; }},
    {"device", [](tokavg_config_t& c) { c.device = TOKAVG_DEVICE_AUTO; }},
};

// Wrong on one rank alone: that one says so, the others hear of it at once.
const Field kWrong[] = {
    {"terms", [](tokavg_config_t& c) { c.terms = 9; }},
    {"gradient_reduction", [](tokavg_config_t& c) { c.gradient_reduction = 0; }},
    {"label_copy_index", [](tokavg_config_t& c) { c.label_copy_index = 1; }},
    {"in_flight", [](tokavg_config_t& c) { c.in_flight = 17; }},
    {"accumulation_divisor", [](tokavg_config_t& c) { c.accumulation_divisor = -1; }},
};

}  // namespace

void config_mismatch(Play& play) {
  for (const Field& field : kFields) {
    tokavg_config_t config = play.config();
    if (play.is_victim()) field.set(config);
    play.init((std::string("differs.") + field.name).c_str(), config);
  }
  for (const Field& field : kWrong) {
    tokavg_config_t config = play.config();
    if (play.is_victim()) field.set(config);
    play.init((std::string("wrong.") + field.name).c_str(), config);
  }
  tokavg_config_t config = play.config();
  config.label_copies = 2;  // every rank says index 0
  play.init("together.label_copy_index", config);
  config = play.config();
  config.label_copies = play.ranks() + 1;
  play.init("together.label_copies", config);
  config = play.config();
  config.asks_only = 1;
  play.init("together.asks_only", config);
  // What may differ does.
  config = play.config();
  config.warn_ms = 100 + play.rank();
  config.timeout_ms += play.rank();
  config.host_threads = 1 + play.rank();
  config.device_index = play.rank();
  tokavg_context_t* context = play.init("may_differ", config);
  play.good_step("good", context, 1);
  play.call("finalize", context, [&] { return tokavg_finalize(context); });
  play.free("free", context);
}

// The victim's library is another one: on_victim, other_version.cpp.
void other_library(Play& play) {
  tokavg_context_t* context = play.init("differs");
  play.free("free", context);
}

}  // namespace failures
