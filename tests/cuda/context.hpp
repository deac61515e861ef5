// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "contract/team.hpp"
#include "cuda/checks.hpp"
#include "cuda/gpu.hpp"

// A context on a GPU, whose calls are checked.
namespace cuda_test {

class Context {
 public:
  // team: what the only rank sums over; nullptr: nothing.
  explicit Context(Checks& checks, contract::Team* team = nullptr, std::int64_t timeout_ms = 60000) : checks_(checks) {
    tokavg_config_t config;
    tokavg_config_init(&config, static_cast<std::uint32_t>(sizeof config));
    config.comm_kind = TOKAVG_COMM_SELF;
    config.gradient_reduction = TOKAVG_GRADIENT_SUM;
    config.device = TOKAVG_DEVICE_CUDA;
    config.timeout_ms = timeout_ms;
    if (team != nullptr) team->configure(config);
    ok(tokavg_init(&config, &context_), "tokavg_init");
  }
  ~Context() {
    static_cast<void>(tokavg_finalize(context_));  // no rank goes before the others have what they wait for
    tokavg_free(context_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  void ok(tokavg_status_t status, const std::string& call) {
    checks_.expect(status == TOKAVG_OK, call + ": " + contract::status_text(status, context_));
  }
  void refused(tokavg_status_t status, tokavg_status_t wanted, const std::vector<std::string>& words,
               const std::string& what) {
    const std::string text = contract::last_error(context_);
    checks_.expect(status == wanted, what + ": " + tokavg_status_name(status) + " " + text);
    for (const std::string& word : words) {
      checks_.expect(text.find(word) != std::string::npos, what + ": no \"" + word + "\" in: " + text);
    }
  }
  [[nodiscard]] tokavg_context_t* get() const { return context_; }
  [[nodiscard]] Checks& checks() const { return checks_; }

  void count(const Array<std::int64_t>& labels, std::int64_t n, const Stream& stream) {
    const tokavg_labels_t given = labels_of(labels, 1, n);
    ok(tokavg_count(context_, &given, stream.get()), "tokavg_count");
  }
  void value(tokavg_ticket_t ticket, std::int32_t kind, const Array<double>& value, std::int64_t tokens,
             const Stream& stream, double* sum_out = nullptr) {
    tokavg_loss_t loss{};
    loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
    loss.kind = kind;
    loss.losses = value.array(TOKAVG_DTYPE_F64);
    loss.tokens = tokens;
    loss.sum_out = sum_out;
    ok(tokavg_loss(context_, ticket, &loss, stream.get()), "tokavg_loss");
  }
  tokavg_ticket_t reduce(const Stream& stream) {
    tokavg_ticket_t ticket = 0;
    ok(tokavg_reduce(context_, nullptr, stream.get(), &ticket), "tokavg_reduce");
    return ticket;
  }
  tokavg_result_t result(tokavg_ticket_t ticket, std::int32_t what) {
    tokavg_result_t result = empty_result();
    const tokavg_status_t status = tokavg_wait(context_, ticket, what, -1, &result);
    checks_.expect(status >= 0 && status != TOKAVG_PENDING, "tokavg_wait: " + contract::status_text(status, context_));
    return result;
  }

 private:
  Checks& checks_;
  tokavg_context_t* context_ = nullptr;
};

}  // namespace cuda_test
