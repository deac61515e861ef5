// SPDX-License-Identifier: Apache-2.0
#include "nccl/steps.hpp"

#include <array>

namespace nccl_test {
namespace {

std::string last_error(tokavg_context_t* context) {
  std::array<char, 2048> text{};
  tokavg_last_error(context, text.data(), static_cast<std::int64_t>(text.size()), nullptr);
  return text.data();
}

std::string check_error(const std::string& said, tokavg_status_t got, tokavg_status_t status,
                        const std::vector<std::string>& words) {
  if (got != status) return "not " + std::string(tokavg_status_name(status)) + ", but " + said;
  for (const std::string& word : words) {
    if (said.find(word) == std::string::npos) return "no \"" + word + "\" in " + said;
  }
  return {};
}

tokavg_ticket_t reduce(tokavg_context_t* context, std::int64_t step_id) {
  tokavg_reduce_t options{};
  options.struct_size = static_cast<std::uint32_t>(sizeof options);
  options.flags = static_cast<std::uint32_t>(TOKAVG_REDUCE_STEP_ID);
  options.step_id = step_id;
  tokavg_ticket_t ticket = 0;
  tokavg_reduce(context, &options, nullptr, &ticket);
  return ticket;
}

}  // namespace

tokavg_config_t host_config() {
  tokavg_config_t config;
  tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
  config.device = TOKAVG_DEVICE_HOST;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.timeout_ms = 10000;
  return config;
}

std::string Context::said(const char* call, tokavg_status_t status) const {
  return std::string(call) + ": " + tokavg_status_name(status) + ": " + last_error(context_);
}

std::string Context::init(const tokavg_config_t& config) {
  const tokavg_status_t status = tokavg_init(&config, &context_);
  return status == TOKAVG_OK ? std::string() : said("tokavg_init", status);
}

std::string Context::init_fails(const tokavg_config_t& config, tokavg_status_t status,
                                const std::vector<std::string>& words) {
  const tokavg_status_t got = tokavg_init(&config, &context_);
  return check_error(said("tokavg_init", got), got, status, words);
}

std::string Context::steps(int rank, int ranks, int n_steps) {
  const std::int64_t all = static_cast<std::int64_t>(ranks) * (ranks + 1) / 2;
  std::vector<tokavg_ticket_t> tickets;
  for (int step = 0; step < n_steps; ++step) {
    const tokavg_status_t status = tokavg_count_add(context_, 0, rank + 1, 0, 1);
    if (status != TOKAVG_OK) return said("tokavg_count_add", status);
    tickets.push_back(reduce(context_, step));
    if (step < 1) continue;
    tokavg_result_t result{};
    result.struct_size = static_cast<std::uint32_t>(sizeof result);
    const tokavg_status_t waited =
        tokavg_wait(context_, tickets[static_cast<std::size_t>(step - 1)], TOKAVG_WAIT_COUNT, -1, &result);
    if (waited != TOKAVG_OK) return said("tokavg_wait", waited);
    if (result.tokens[0] != all || result.ranks != ranks) return "N is " + std::to_string(result.tokens[0]);
  }
  return {};
}

std::string Context::step_fails(tokavg_status_t status, const std::vector<std::string>& words, std::int64_t step_id) {
  const tokavg_ticket_t ticket = reduce(context_, step_id);
  const tokavg_status_t got = tokavg_wait(context_, ticket, TOKAVG_WAIT_COUNT, -1, nullptr);
  return check_error(said("tokavg_wait", got), got, status, words);
}

std::string Context::reduce_only() {
  const tokavg_ticket_t ticket = reduce(context_, 0);
  return ticket > 0 ? std::string() : said("tokavg_reduce", 0);
}

std::string Context::finalize() {
  const tokavg_status_t status = tokavg_finalize(context_);
  return status == TOKAVG_OK ? std::string() : said("tokavg_finalize", status);
}

std::string Context::describe() const {
  std::array<char, 8192> text{};
  tokavg_describe(context_, text.data(), static_cast<std::int64_t>(text.size()), nullptr);
  return text.data();
}

}  // namespace nccl_test
