// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "contract/cases.hpp"
#include "contract/memory.hpp"

namespace contract {

// The arrays of one call in the types that the case asks for, and the structs that point to them.
class Arrays {
 public:
  Arrays(const Call& call, Memory& memory);
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  [[nodiscard]] const tokavg_labels_t& labels() const { return labels_; }
  // Outputs are left to the caller.
  [[nodiscard]] tokavg_loss_t loss() const;

 private:
  template <typename Value>
  tokavg_array_t array_of(const std::vector<Value>& values, std::int32_t dtype);
  tokavg_array_t floats(const std::vector<double>& values, std::int32_t dtype, std::vector<float>& as_float);

  const Call& call_;
  Memory& memory_;
  std::vector<std::int32_t> short_labels_;
  std::vector<float> float_losses_;
  std::vector<float> float_weights_;
  tokavg_array_t losses_{};
  tokavg_labels_t labels_{};
};

}  // namespace contract
