// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/calls.hpp"
#include "kernels/groups.hpp"

namespace tokavg_bench {

// Logits and labels that several benchmarks share, and a copy for those that write over them. Filled on first use.
class Logits {
 public:
  Logits(Dtype dtype, std::size_t bytes) : dtype_(dtype), bytes_(bytes) {}

  [[nodiscard]] Dtype dtype() const { return dtype_; }
  [[nodiscard]] const Buffer& original();
  // A fresh copy.
  [[nodiscard]] const Buffer& copy();

 private:
  Dtype dtype_;
  std::size_t bytes_;
  Buffer original_;
  Buffer copy_;
};

// Rows of `vocab` logits with a label each, all scored, in a step that has its factor: what tokavg_cross_entropy()
// takes.
class Rows {
 public:
  Rows(std::int64_t rows, std::int64_t vocab, std::int32_t host_threads = 1);
  Rows(const Rows&) = delete;  // labels_view_ points into labels_
  Rows& operator=(const Rows&) = delete;

  // Losses alone. The logits are left as they are.
  void time_forward(benchmark::State& state, Logits& logits) const;
  // Losses, and the gradient over the logits. Restoring them is not timed.
  void time_gradient(benchmark::State& state, Logits& logits) const;

 private:
  void set_size(benchmark::State& state, Dtype dtype) const;

  std::int64_t vocab_;
  Context context_;
  Buffer labels_;
  tokavg_labels_t labels_view_;
  tokavg_ticket_t ticket_ = 0;
};

}  // namespace tokavg_bench
