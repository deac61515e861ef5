// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokavg/tokavg.h>

#include <memory>
#include <string>

#include "gpu/cuda.hpp"

namespace tokavg_bench {

// How a rank reaches the others. Without a group it is alone.
struct Place {
  tokavg_threads_t* group = nullptr;
  std::int32_t rank = 0;
  bool nccl = false;
};

// The library as a trainer with a GPU uses it; the factor of its steps is not 1. A call that fails ends the program.
class Rank {
 public:
  explicit Rank(const Place& place = {});
  // nullptr, and why, where the context cannot be made (no libnccl, say).
  static std::unique_ptr<Rank> make(const Place& place, std::string& why_not);

  [[nodiscard]] tokavg_context_t* context() const { return context_.get(); }
  // The library's own words about itself: a JSON object.
  [[nodiscard]] std::string describe() const;

  void count(const tokavg_labels_t& labels, const Stream& stream) const;
  [[nodiscard]] tokavg_ticket_t reduce(const Stream& stream) const;
  const float* factor(tokavg_ticket_t ticket, const Stream& stream) const;
  void cross_entropy(tokavg_ticket_t ticket, const tokavg_cross_entropy_t& ce, const Stream& stream) const;
  void loss(tokavg_ticket_t ticket, const tokavg_loss_t& loss, const Stream& stream) const;
  void scale(tokavg_ticket_t ticket, const tokavg_scale_t& scale, const Stream& stream) const;
  void flush(const Stream& stream) const;
  void wait(tokavg_ticket_t ticket, std::int32_t what) const;
  void release(tokavg_ticket_t ticket) const;
  [[nodiscard]] tokavg_result_t result(tokavg_ticket_t ticket) const;

 private:
  struct Free {
    void operator()(tokavg_context_t* context) const { tokavg_free(context); }
  };
  struct Empty {};
  explicit Rank(Empty /*unused*/) {}
  tokavg_status_t init(const Place& place);
  void check(tokavg_status_t status, const char* call) const;

  std::unique_ptr<tokavg_context_t, Free> context_;
};

// Labels on the GPU; what is not in them (a mask, a shift) is added by whoever calls.
[[nodiscard]] tokavg_labels_t labels_on_gpu(const DeviceBuffer& data, std::int32_t dtype, std::int64_t rows,
                                            std::int64_t cols);
[[nodiscard]] tokavg_array_t array_on_gpu(const DeviceBuffer& data, std::int32_t dtype);

}  // namespace tokavg_bench
