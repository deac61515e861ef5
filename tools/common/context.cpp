// SPDX-License-Identifier: Apache-2.0
#include "common/context.hpp"

#include <string>
#include <vector>

#include "common/failure.hpp"

namespace tokavg_tool {
namespace {

std::string last_error(tokavg_context_t* context) {
  int64_t needed = 0;
  if (tokavg_last_error(context, nullptr, 0, &needed) != TOKAVG_OK || needed <= 1) {
    return "no further text";
  }
  std::vector<char> text(static_cast<std::size_t>(needed));
  tokavg_last_error(context, text.data(), needed, nullptr);
  return text.data();
}

[[noreturn]] void fail(tokavg_status_t status, tokavg_context_t* context, const char* call) {
  throw Failure(std::string(call) + ": " + tokavg_status_name(status) + ": " + last_error(context));
}

}  // namespace

void check(tokavg_status_t status, tokavg_context_t* context, const char* call) {
  if (status < 0) {
    fail(status, context, call);
  }
}

tokavg_config_t default_config() {
  tokavg_config_t config;
  check(tokavg_config_init(&config, sizeof config), nullptr, "tokavg_config_init");
  return config;
}

Context::Context(const tokavg_config_t& config) {
  tokavg_tool::check(tokavg_init(&config, &context_), nullptr, "tokavg_init");
}

Context::~Context() {
  if (std::uncaught_exceptions() > exceptions_at_start_) {
    tokavg_abort(context_);
  }
  tokavg_free(context_);
}

tokavg_ticket_t Context::reduce(int64_t step) const {
  tokavg_reduce_t options{};
  options.struct_size = sizeof options;
  options.flags = TOKAVG_REDUCE_STEP_ID;
  options.step_id = step;
  tokavg_ticket_t ticket = 0;
  check(tokavg_reduce(context_, &options, nullptr, &ticket), "tokavg_reduce");
  return ticket;
}

tokavg_result_t Context::wait(tokavg_ticket_t ticket, int32_t what) const {
  tokavg_result_t result{};
  result.struct_size = sizeof result;
  const tokavg_status_t status = tokavg_wait(context_, ticket, what, -1, &result);
  if (status < 0 || status == TOKAVG_PENDING) {
    fail(status, context_, "tokavg_wait");
  }
  if ((result.flags & TOKAVG_RESULT_AUDIT_FAILED) != 0) {
    throw Failure("tokavg_wait: the losses of step " + std::to_string(result.audit_ticket) + " hold " +
                  std::to_string(result.audit_recorded) + " tokens, but " + std::to_string(result.audit_counted) +
                  " were counted");
  }
  return result;
}

double Context::factor(tokavg_ticket_t ticket) const {
  double factor = 0.0;
  check(tokavg_factor(context_, ticket, 0, TOKAVG_FACTOR_SCALE, &factor), "tokavg_factor");
  return factor;
}

void Context::finalize() const { check(tokavg_finalize(context_), "tokavg_finalize"); }

}  // namespace tokavg_tool
