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

constexpr double kUntouched = -123.25;

// In one stroke: nobody ever reads half a file.
void put(const std::string& path, const std::string& text) {
  std::ofstream(path + ".part") << text;
  std::rename((path + ".part").c_str(), path.c_str());
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
  auto* const nothing = reinterpret_cast<tokavg_context_t*>(this);
  tokavg_context_t* context = nothing;
  call(tag, nullptr, [&] { return tokavg_init(&config, &context); });
  also("untouched", context == nothing);
  return context == nothing ? nullptr : context;
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

void Play::factor(const std::string& tag, tokavg_context_t* context, tokavg_ticket_t ticket) {
  double factor = kUntouched;
  call(tag, context, [&] { return tokavg_factor(context, ticket, 0, TOKAVG_FACTOR_SCALE, &factor); });
  also("untouched", factor == kUntouched);
}

void Play::loss_sum(const std::string& tag, tokavg_context_t* context, tokavg_ticket_t ticket) {
  double sum = 2.0 * (rank() + 1);
  double backward = kUntouched;
  double sum_out = kUntouched;
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_SUM;
  loss.losses.data = &sum;
  loss.losses.dtype = TOKAVG_DTYPE_F64;
  loss.tokens = rank() + 1;
  loss.backward_out = &backward;
  loss.sum_out = &sum_out;
  call(tag, context, [&] { return tokavg_loss(context, ticket, &loss, nullptr); });
  also("untouched", backward == kUntouched && sum_out == kUntouched);
}

void Play::free(const std::string& tag, tokavg_context_t* context) {
  call(tag, nullptr, [&] { return tokavg_free(context); });
}

std::string Play::file(int rank, const char* suffix) const {
  return options_.folder + "/" + std::to_string(rank) + suffix;
}

void Play::announce() const { put(file(rank(), ".pid"), std::to_string(getpid())); }

void Play::note_strike() const { put(file(rank(), ".struck"), options_.scenario); }

void Play::write_result() const {
  const nlohmann::json result = {
      {"rank", rank()}, {"pid", getpid()}, {"names_ranks", options_.names_ranks}, {"calls", calls_}};
  put(file(rank(), ".json"), result.dump());
}

bool Play::others_are_done(bool without_victim, int patience_ms) const {
  for (int waited = 0; waited < patience_ms; waited += 5) {
    bool all = true;
    for (int other = 0; other < ranks(); ++other) {
      if (other == rank() || (without_victim && other == options_.victim)) continue;
      all = all && access(file(other, ".json").c_str(), F_OK) == 0;
    }
    if (all) return true;
    sleep_ms(5);
  }
  return false;
}

void play(const Options& options, Team& team) {
  Play rank(options, team);
  rank.announce();
  find_scenario(options.scenario)(rank);
  rank.write_result();
}

}  // namespace failures
