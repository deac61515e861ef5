// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "gpu/groups.hpp"

namespace tokavg_bench {

// Rows of logits with a label each, all scored, and a step that has its factor.
class Problem {
 public:
  Problem(const Plan& plan, Dtype dtype, std::int64_t vocab);
  Problem(const Problem&) = delete;  // label_view_ points into labels_
  Problem& operator=(const Problem&) = delete;

  [[nodiscard]] std::size_t bytes() const { return original_.bytes(); }  // of the logits
  [[nodiscard]] std::int64_t elements() const { return rows_ * vocab_; }
  [[nodiscard]] std::string end_of_name() const;
  [[nodiscard]] const DeviceBuffer& original() const { return original_; }
  [[nodiscard]] std::uint32_t* read_sum() const { return sum_.as<std::uint32_t>(); }

  // What the gradient is written over; all of it is the original again after restore().
  void restore() const { work_.copy_from(original_, bytes(), *plan_.stream); }
  void copy() const { work_.copy_from(original_, bytes(), *plan_.stream); }

  // Losses alone; and the gradient, over the logits. `options`: everything that is not an array.
  void forward() const;
  void gradient(const tokavg_cross_entropy_t& options = {}) const { gradient_on(ticket_, options); }
  // Factor 1; and then all gradients once more, as it has to be where the upstream gradient comes after them.
  void open_gradient() const { gradient_on(TOKAVG_OPEN, {}); }
  void two_passes() const;

 private:
  void gradient_on(tokavg_ticket_t ticket, const tokavg_cross_entropy_t& options) const;
  [[nodiscard]] tokavg_cross_entropy_t call(const tokavg_cross_entropy_t& options) const;

  Plan plan_;
  Dtype dtype_;
  std::int64_t vocab_;
  std::int64_t rows_;
  DeviceBuffer original_;
  DeviceBuffer work_;
  DeviceBuffer labels_;
  DeviceBuffer losses_;
  DeviceBuffer sum_;
  tokavg_labels_t label_view_;
  tokavg_ticket_t ticket_ = 0;          // scaled before backward
  tokavg_ticket_t after_backward_ = 0;  // and after it
};

}  // namespace tokavg_bench
