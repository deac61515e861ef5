// SPDX-License-Identifier: Apache-2.0
#include "failures/play.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

namespace failures {
namespace {

double ms_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void sleep_ms(std::int64_t duration) { std::this_thread::sleep_for(std::chrono::milliseconds(duration)); }

tokavg_config_t Play::config() {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  team_.configure(config);
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.timeout_ms = options_.deadline_ms;
  return config;
}

tokavg_context_t* Play::init(const char* tag, const tokavg_config_t& config) {
  tokavg_context_t* context = nullptr;
  call(tag, nullptr, [&] { return tokavg_init(&config, &context); });
  return context;
}

tokavg_status_t Play::call(const std::string& tag, tokavg_context_t* context,
                           const std::function<tokavg_status_t()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  const tokavg_status_t status = body();
  const double took = ms_since(begin);
  nlohmann::json entry = {{"tag", tag}, {"status", tokavg_status_name(status)}, {"ms", took}};
  if (status != TOKAVG_OK) entry["text"] = contract::last_error(context);
  calls_.push_back(std::move(entry));
  return status;
}

tokavg_ticket_t Play::reduce(const std::string& tag, tokavg_context_t* context, std::int64_t step_id) {
  tokavg_reduce_t options{};
  options.struct_size = static_cast<std::uint32_t>(sizeof options);
  options.flags = TOKAVG_REDUCE_STEP_ID;
  options.step_id = step_id;
  tokavg_ticket_t ticket = -7;
  call(tag, context, [&] { return tokavg_reduce(context, &options, nullptr, &ticket); });
  also("ticket", ticket);
  return ticket;
}

tokavg_status_t Play::wait(const std::string& tag, tokavg_context_t* context, tokavg_ticket_t ticket,
                           std::int32_t what) {
  tokavg_result_t result{};
  result.struct_size = static_cast<std::uint32_t>(sizeof result);
  const tokavg_status_t status = call(tag, context, [&] { return tokavg_wait(context, ticket, what, -1, &result); });
  also("tokens", result.tokens[0]);
  also("flags", result.flags);
  also("failed_ranks", result.failed_ranks);
  also("first_failed_rank", result.first_failed_rank);
  also("mean_loss", result.mean_loss[0]);
  return status;
}

void Play::good_step(const std::string& tag, tokavg_context_t* context, std::int64_t step_id) {
  call(tag + ".count", context, [&] { return tokavg_count_add(context, 0, rank() + 1, 0.0, 1); });
  const tokavg_ticket_t ticket = reduce(tag + ".reduce", context, step_id);
  wait(tag, context, ticket);
  also("expected_tokens", ranks() * (ranks() + 1) / 2);
}

void Play::free(const std::string& tag, tokavg_context_t* context) {
  call(tag, nullptr, [&] { return tokavg_free(context); });
}

void Play::write_result() const {
  const std::string path = options_.folder + "/" + std::to_string(rank()) + ".json";
  {
    std::ofstream file(path + ".part");
    file << nlohmann::json{{"rank", rank()}, {"pid", getpid()}, {"calls", calls_}}.dump();
  }
  // In one stroke: nobody ever reads half a file.
  std::rename((path + ".part").c_str(), path.c_str());
}

bool Play::others_are_done(bool without_victim, int patience_ms) const {
  for (int waited = 0; waited < patience_ms; waited += 5) {
    bool all = true;
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank() || (without_victim && other == options_.victim)) continue;
      all = all && access((options_.folder + "/" + std::to_string(other) + ".json").c_str(), F_OK) == 0;
    }
    if (all) return true;
    sleep_ms(5);
  }
  return false;
}

void play(const Options& options, Team& team) {
  Play rank(options, team);
  find_scenario(options.scenario)(rank);
  rank.write_result();
}

}  // namespace failures
