// SPDX-License-Identifier: Apache-2.0
#include "kernels/calls.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace tokavg_bench {
namespace {

std::string last_error(tokavg_context_t* context) {
  std::array<char, 1024> text{};
  (void)tokavg_last_error(context, text.data(), text.size(), nullptr);
  return text.data();
}

template <class Label>
tokavg_labels_t make_labels(const Label* data, std::int32_t dtype, std::int64_t rows, std::int64_t cols) {
  tokavg_labels_t labels{};
  labels.struct_size = sizeof labels;
  labels.rows = rows;
  labels.cols = cols;
  labels.labels.data = const_cast<Label*>(data);  // the struct is for outputs, too; labels are only read
  labels.labels.dtype = dtype;
  return labels;
}

}  // namespace

void fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  std::exit(1);
}

Context::Context(std::int32_t host_threads) {
  tokavg_config_t config;
  check(tokavg_config_init(&config, sizeof config), "tokavg_config_init");
  config.comm_kind = TOKAVG_COMM_SELF;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.host_threads = host_threads;
  tokavg_context_t* context = nullptr;
  check(tokavg_init(&config, &context), "tokavg_init");
  context_.reset(context);
}

void Context::fail_call(tokavg_status_t status, const char* call) const {
  fail(std::string(call) + ": " + tokavg_status_name(status) + ": " + last_error(get()));
}

std::string Context::simd() const {
  std::array<char, 8192> text{};
  check(tokavg_describe(get(), text.data(), text.size(), nullptr), "tokavg_describe");
  return nlohmann::json::parse(text.data())["device"]["kernels"];
}

tokavg_ticket_t Context::reduce() const {
  tokavg_ticket_t ticket = 0;
  check(tokavg_reduce(get(), nullptr, nullptr, &ticket), "tokavg_reduce");
  return ticket;
}

void Context::wait(tokavg_ticket_t ticket) const {
  check(tokavg_wait(get(), ticket, TOKAVG_WAIT_COUNT, -1, nullptr), "tokavg_wait");
}

tokavg_labels_t labels_of(const std::int32_t* data, std::int64_t rows, std::int64_t cols) {
  return make_labels(data, TOKAVG_DTYPE_I32, rows, cols);
}

tokavg_labels_t labels_of(const std::int64_t* data, std::int64_t rows, std::int64_t cols) {
  return make_labels(data, TOKAVG_DTYPE_I64, rows, cols);
}

tokavg_cross_entropy_t cross_entropy_of(void* logits, Dtype dtype, std::int64_t vocab, const tokavg_labels_t& labels) {
  tokavg_cross_entropy_t ce{};
  ce.struct_size = sizeof ce;
  ce.logits.data = logits;
  ce.logits.dtype = constant_of(dtype);
  ce.vocab = vocab;
  ce.labels = &labels;
  return ce;
}

tokavg_loss_t token_losses_of(const float* losses, const tokavg_labels_t& labels) {
  tokavg_loss_t loss{};
  loss.struct_size = sizeof loss;
  loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
  loss.rows = labels.rows;
  loss.cols = labels.cols;
  loss.losses.data = const_cast<float*>(losses);
  loss.losses.dtype = TOKAVG_DTYPE_F32;
  loss.labels = &labels;
  return loss;
}

}  // namespace tokavg_bench
