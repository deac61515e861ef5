// SPDX-License-Identifier: Apache-2.0
#include "gpu/rank.hpp"

#include <array>

#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

std::string last_error(tokavg_context_t* context) {
  std::array<char, 1024> text{};
  (void)tokavg_last_error(context, text.data(), text.size(), nullptr);
  return text.data();
}

}  // namespace

Rank::Rank(const Place& place) {
  if (init(place) < 0) {
    fail("tokavg_init: " + last_error(nullptr));
  }
}

std::unique_ptr<Rank> Rank::make(const Place& place, std::string& why_not) {
  std::unique_ptr<Rank> rank(new Rank(Empty{}));
  if (rank->init(place) >= 0) {
    return rank;
  }
  why_not = last_error(nullptr);
  return nullptr;
}

tokavg_status_t Rank::init(const Place& place) {
  tokavg_config_t config;
  check(tokavg_config_init(&config, sizeof config), "tokavg_config_init");
  config.comm_kind = place.group == nullptr ? TOKAVG_COMM_SELF : TOKAVG_COMM_THREADS;
  config.comm = place.group;
  config.comm_rank = place.rank;
  config.transport = place.nccl ? TOKAVG_TRANSPORT_NCCL : TOKAVG_TRANSPORT_AUTO;
  config.device = TOKAVG_DEVICE_CUDA;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.timeout_ms = 30000;
  tokavg_context_t* context = nullptr;
  const tokavg_status_t status = tokavg_init(&config, &context);
  context_.reset(context);
  return status;
}

void Rank::check(tokavg_status_t status, const char* call) const {
  if (status < 0) {
    fail(std::string(call) + ": " + tokavg_status_name(status) + ": " + last_error(context()));
  }
}

std::string Rank::describe() const {
  std::array<char, 8192> text{};
  check(tokavg_describe(context(), text.data(), text.size(), nullptr), "tokavg_describe");
  return text.data();
}

void Rank::count(const tokavg_labels_t& labels, const Stream& stream) const {
  check(tokavg_count(context(), &labels, stream.get()), "tokavg_count");
}

tokavg_ticket_t Rank::reduce(const Stream& stream) const {
  tokavg_ticket_t ticket = 0;
  check(tokavg_reduce(context(), nullptr, stream.get(), &ticket), "tokavg_reduce");
  return ticket;
}

const float* Rank::factor(tokavg_ticket_t ticket, const Stream& stream) const {
  const float* factor = nullptr;
  check(tokavg_factor_device(context(), ticket, 0, TOKAVG_FACTOR_SCALE, stream.get(), &factor), "tokavg_factor_device");
  return factor;
}

void Rank::cross_entropy(tokavg_ticket_t ticket, const tokavg_cross_entropy_t& ce, const Stream& stream) const {
  check(tokavg_cross_entropy(context(), ticket, &ce, stream.get()), "tokavg_cross_entropy");
}

void Rank::loss(tokavg_ticket_t ticket, const tokavg_loss_t& loss, const Stream& stream) const {
  check(tokavg_loss(context(), ticket, &loss, stream.get()), "tokavg_loss");
}

void Rank::scale(tokavg_ticket_t ticket, const tokavg_scale_t& scale, const Stream& stream) const {
  check(tokavg_scale(context(), ticket, &scale, stream.get()), "tokavg_scale");
}

void Rank::flush(const Stream& stream) const { check(tokavg_flush(context(), stream.get()), "tokavg_flush"); }

void Rank::wait(tokavg_ticket_t ticket, std::int32_t what) const {
  check(tokavg_wait(context(), ticket, what, -1, nullptr), "tokavg_wait");
}

void Rank::release(tokavg_ticket_t ticket) const { check(tokavg_release(context(), ticket), "tokavg_release"); }

tokavg_result_t Rank::result(tokavg_ticket_t ticket) const {
  tokavg_result_t result{};
  result.struct_size = sizeof result;
  check(tokavg_wait(context(), ticket, TOKAVG_WAIT_COUNT, -1, &result), "tokavg_wait");
  return result;
}

tokavg_array_t array_on_gpu(const DeviceBuffer& data, std::int32_t dtype) {
  return {data.data(), dtype, TOKAVG_MEMORY_CUDA, 0, 0};
}

tokavg_labels_t labels_on_gpu(const DeviceBuffer& data, std::int32_t dtype, std::int64_t rows, std::int64_t cols) {
  tokavg_labels_t labels{};
  labels.struct_size = sizeof labels;
  labels.rows = rows;
  labels.cols = cols;
  labels.labels = array_on_gpu(data, dtype);
  return labels;
}

}  // namespace tokavg_bench
