// SPDX-License-Identifier: Apache-2.0
// Contexts of the host over NCCL, through the C interface.
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "cuda_emulator/control.h"
#include "nccl/ranks.hpp"
#include "nccl/steps.hpp"

namespace {

using namespace nccl_test;

constexpr int kVictim = 1;

tokavg_threads_t* group = nullptr;  // of the run that is under way

tokavg_config_t config_of(const Rank& rank) {
  tokavg_config_t config = host_config();
  config.comm_kind = rank.options.comm_kind;
  config.comm = rank.way == Way::kOwn ? group : rank.options.comm;
  config.comm_rank = rank.rank;
  config.transport = rank.options.transport;
  if (rank.way == Way::kSplit) config.flags |= static_cast<std::uint32_t>(TOKAVG_CONFIG_NCCL_OWN);
  return config;
}

void expect(Rank& rank, const std::string& fault) { rank.expect(fault.empty(), fault); }

void life(Rank& rank) {
  Context context;
  const tokavg_config_t config = config_of(rank);
  expect(rank, context.init(config));
  const auto facts = nlohmann::json::parse(context.describe(), nullptr, false);
  rank.expect(facts.is_object() && facts.dump().find("\"nccl\"") != std::string::npos, "describe: " + facts.dump());
  expect(rank, context.steps(rank.rank, rank.ranks, 10));
  expect(rank, context.finalize());
}

void step_missing(Rank& rank) {
  Context context;
  tokavg_config_t config = config_of(rank);
  config.timeout_ms = 500;
  expect(rank, context.init(config));
  expect(rank, context.steps(rank.rank, rank.ranks, 2));
  if (rank.rank == kVictim) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  } else {
    expect(rank, context.step_fails(TOKAVG_ERR_TIMEOUT, {"0.5 s", "not known", "given up"}));
    rank.expect_lent_dead(rank.way == Way::kLent);
  }
}

// What is wrong with one rank alone, all hear of in the handshake.
void bad_config(Rank& rank) {
  Context context;
  tokavg_config_t config = config_of(rank);
  if (rank.rank == kVictim) config.terms = 99;
  const bool victim = rank.rank == kVictim;
  expect(rank, context.init_fails(config, victim ? TOKAVG_ERR_CONFIG : TOKAVG_ERR_PEER, {victim ? "terms" : "rank 1"}));
  rank.expect_lent_dead(false);
}

void bad_device(Rank& rank) {
  Context context;
  tokavg_config_t config = config_of(rank);
  if (rank.rank == kVictim) config.device_index = rank.way == Way::kOwn ? 99 : 0;
  const bool victim = rank.rank == kVictim;
  expect(rank, context.init_fails(config, victim ? TOKAVG_ERR_CONFIG : TOKAVG_ERR_PEER,
                                  {victim ? "device_index" : "rank 1"}));
  rank.expect_lent_dead(false);
}

void another_step(Rank& rank) {
  Context context;
  const tokavg_config_t config = config_of(rank);
  expect(rank, context.init(config));
  expect(rank, context.step_fails(TOKAVG_ERR_DESYNC, {}, rank.rank == kVictim ? 5 : 4));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

void freed_in_flight(Rank& rank) {
  {
    Context context;
    const tokavg_config_t config = config_of(rank);
    expect(rank, context.init(config));
    expect(rank, context.reduce_only());
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1200));
  rank.expect_lent_dead(false);
}

int run_contexts(const std::string& name, Way way, int ranks, const std::function<void(Rank&)>& body) {
  tokavg_threads_create(ranks, &group);
  const int faults = run(name, way, ranks, body);
  tokavg_threads_free(group);
  return faults;
}

}  // namespace

int main() {
  int faults = 0;
  for (const Way way : kWays) {
    for (const int ranks : {1, 2, 4}) faults += run_contexts("life", way, ranks, life);
  }
  cuda_emulator_check_order(0);
  for (const Way way : kWays) {
    faults += run_contexts("step missing", way, 3, step_missing);
    faults += run_contexts("bad config", way, 3, bad_config);
    faults += run_contexts("bad device", way, 3, bad_device);
    faults += run_contexts("another step", way, 3, another_step);
    faults += run_contexts("freed in flight", way, 2, freed_in_flight);
  }
  return faults == 0 ? 0 : 1;
}
