// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokavg/tokavg.h>

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/data.hpp"

// The library as a trainer of one process uses it.
namespace tokavg_bench {

// Ends the program: a time of something that does not work must not be printed.
[[noreturn]] void fail(const std::string& what);

class Context {
 public:
  explicit Context(std::int32_t host_threads = 1);

  [[nodiscard]] tokavg_context_t* get() const { return context_.get(); }
  // The kernels that it uses, as TOKAVG_SIMD spells them.
  [[nodiscard]] std::string simd() const;

  void count(const tokavg_labels_t& labels) const { check(tokavg_count(get(), &labels, nullptr), "tokavg_count"); }
  // Ends the step, which then has a factor.
  [[nodiscard]] tokavg_ticket_t reduce() const;
  void wait(tokavg_ticket_t ticket) const;
  void loss(tokavg_ticket_t ticket, const tokavg_loss_t& loss) const {
    check(tokavg_loss(get(), ticket, &loss, nullptr), "tokavg_loss");
  }
  void cross_entropy(tokavg_ticket_t ticket, const tokavg_cross_entropy_t& ce) const {
    check(tokavg_cross_entropy(get(), ticket, &ce, nullptr), "tokavg_cross_entropy");
  }
  void scale(tokavg_ticket_t ticket, const tokavg_scale_t& scale) const {
    check(tokavg_scale(get(), ticket, &scale, nullptr), "tokavg_scale");
  }

 private:
  struct Free {
    void operator()(tokavg_context_t* context) const { tokavg_free(context); }
  };
  void check(tokavg_status_t status, const char* call) const {
    if (status < 0) {
      fail_call(status, call);
    }
  }
  [[noreturn]] void fail_call(tokavg_status_t status, const char* call) const;

  std::unique_ptr<tokavg_context_t, Free> context_;
};

// `rows` x `cols` labels in `data`.
[[nodiscard]] tokavg_labels_t labels_of(const std::int32_t* data, std::int64_t rows, std::int64_t cols);
[[nodiscard]] tokavg_labels_t labels_of(const std::int64_t* data, std::int64_t rows, std::int64_t cols);

// labels->rows * labels->cols rows of logits. Whoever calls it adds the outputs; `labels` must live as long.
[[nodiscard]] tokavg_cross_entropy_t cross_entropy_of(void* logits, Dtype dtype, std::int64_t vocab,
                                                      const tokavg_labels_t& labels);

// One loss for each label.
[[nodiscard]] tokavg_loss_t token_losses_of(const float* losses, const tokavg_labels_t& labels);

}  // namespace tokavg_bench
