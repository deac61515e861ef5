// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "device/host/array.hpp"

namespace tokavg::host {

// Which tokens of one call count, and how much. What is not scored is not looked at: its weight may be anything.
class Tokens {
 public:
  explicit Tokens(const LabelsView& view);

  [[nodiscard]] bool scored(std::int64_t r, std::int64_t c) const {
    return c >= view_.shift && label(r, c) != view_.ignore_index && (!mask_ || mask_(r, c) != 0);
  }
  [[nodiscard]] std::int64_t label(std::int64_t r, std::int64_t c) const { return labels_(r, c); }
  [[nodiscard]] bool weighted() const noexcept { return static_cast<bool>(weights_); }
  [[nodiscard]] double weight(std::int64_t r, std::int64_t c) const { return weights_ ? weights_(r, c) : 1.0; }

  // Calls visit(r, c) for each scored token, row by row.
  template <typename Visit>
  void for_each_scored(Visit visit) const {
    for (std::int64_t r = 0; r < view_.rows; ++r) {
      for (std::int64_t c = 0; c < view_.cols; ++c) {
        if (scored(r, c)) visit(r, c);
      }
    }
  }

  // They throw Error for the first scored token that cannot be used, and so come before anything is written.
  void check_weights() const;
  void check_labels(std::int64_t vocab) const;

 private:
  LabelsView view_;
  Input<std::int64_t> labels_;
  Input<std::int64_t> mask_;
  Input<double> weights_;
};

// Whether vectors can compare them: neighbours in memory, and an ignore_index that their type can hold.
bool labels_suit_vectors(const LabelsView& view) noexcept;

}  // namespace tokavg::host
