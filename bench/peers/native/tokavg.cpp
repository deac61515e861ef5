// SPDX-License-Identifier: Apache-2.0
// tokavg itself, through its C interface: a step is counted, reduced and differentiated, all of it timed.
#include <tokavg/tokavg.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer.hpp"

namespace tokavg::peers {
namespace {

void check(tokavg_context_t* ctx, const char* call, tokavg_status_t status) {
  if (status >= 0) return;
  std::array<char, 1024> text{};
  (void)tokavg_last_error(ctx, text.data(), static_cast<std::int64_t>(text.size()), nullptr);
  throw std::runtime_error(std::string(call) + ": " + tokavg_status_name(status) + ": " + text.data());
}

class Tokavg final : public Peer {
 public:
  explicit Tokavg(const Problem& problem)
      : Peer({"tokavg", "C interface, one rank", 1e-4, problem.dtype == Dtype::kF32 ? 1e-4 : 1e-2}),
        losses_(static_cast<std::size_t>(problem.rows)) {
    tokavg_config_t config{};
    check(nullptr, "tokavg_config_init", tokavg_config_init(&config, sizeof config));
    config.comm_kind = TOKAVG_COMM_SELF;
    config.device = TOKAVG_DEVICE_HOST;
    config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
    // The factor is G / N: the trainer averages over more ranks than this process has.
    config.gradient_ranks = static_cast<std::int32_t>(std::lround(problem.factor * static_cast<float>(problem.rows)));
    check(nullptr, "tokavg_init", tokavg_init(&config, &ctx_));
  }
  ~Tokavg() override { (void)tokavg_free(ctx_); }
  Tokavg(const Tokavg&) = delete;
  Tokavg& operator=(const Tokavg&) = delete;

  double forward(const Problem& p) override { return step(p, false); }
  double forward_backward(const Problem& p) override { return step(p, true); }

 private:
  double step(const Problem& p, bool train) {
    tokavg_labels_t labels{};
    labels.struct_size = sizeof labels;
    labels.rows = 1;
    labels.cols = p.rows;
    // The library only reads labels; its array type has no const.
    labels.labels = {const_cast<std::int64_t*>(p.labels), TOKAVG_DTYPE_I64, TOKAVG_MEMORY_HOST, 0, 0};
    check(ctx_, "tokavg_count", tokavg_count(ctx_, &labels, nullptr));
    tokavg_ticket_t ticket = 0;
    check(ctx_, "tokavg_reduce", tokavg_reduce(ctx_, nullptr, nullptr, &ticket));

    double sum = 0;
    tokavg_cross_entropy_t ce{};
    ce.struct_size = sizeof ce;
    ce.logits = {p.logits, p.dtype == Dtype::kF32 ? TOKAVG_DTYPE_F32 : TOKAVG_DTYPE_BF16, TOKAVG_MEMORY_HOST, 0, 0};
    ce.vocab = p.vocab;
    ce.labels = &labels;
    ce.losses_out = {losses_.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_HOST, 0, 0};
    ce.sum_out = &sum;
    if (train) ce.gradient_out = ce.logits;
    check(ctx_, "tokavg_cross_entropy", tokavg_cross_entropy(ctx_, ticket, &ce, nullptr));
    return sum;
  }

  tokavg_context_t* ctx_ = nullptr;
  std::vector<float> losses_;
};

}  // namespace

void add_tokavg(const Problem& problem, Peers& peers) { peers.push_back(std::make_unique<Tokavg>(problem)); }

}  // namespace tokavg::peers
