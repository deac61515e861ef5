// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "device/host/kernels.hpp"
#include "device/host/reference/reference.hpp"
#include "device/host/tokens.hpp"

namespace tokavg::host {
namespace {

bool suits_vectors(const LabelsView& view) {
  return !view.weights && labels_suit_vectors(view) && (!view.mask || view.mask.col_stride == 1);
}

class Scored {
 public:
  Scored(const LabelsView& view, const SimdKernels& simd) : view_(view), simd_(simd) {}

  // Of n neighbours from (r, c) on.
  [[nodiscard]] std::int64_t run(std::int64_t r, std::int64_t c, std::int64_t n) const {
    const auto* mask =
        view_.mask ? static_cast<const std::uint8_t*>(view_.mask.data) + r * view_.mask.row_stride + c : nullptr;
    const std::int64_t first = r * view_.labels.row_stride + c;
    if (view_.labels.dtype == TOKAVG_DTYPE_I32) {
      const auto* labels = static_cast<const std::int32_t*>(view_.labels.data) + first;
      const auto ignored = static_cast<std::int32_t>(view_.ignore_index);
      return mask != nullptr ? simd_.count_masked_i32(labels, mask, n, ignored) : simd_.count_i32(labels, n, ignored);
    }
    const auto* labels = static_cast<const std::int64_t*>(view_.labels.data) + first;
    return mask != nullptr ? simd_.count_masked_i64(labels, mask, n, view_.ignore_index)
                           : simd_.count_i64(labels, n, view_.ignore_index);
  }

  // Of the columns [begin, end) of all rows.
  [[nodiscard]] std::int64_t columns(std::int64_t begin, std::int64_t end) const {
    std::int64_t tokens = 0;
    for (std::int64_t r = 0; r < view_.rows; ++r) tokens += run(r, begin, end - begin);
    return tokens;
  }

 private:
  const LabelsView& view_;
  const SimdKernels& simd_;
};

}  // namespace

Counted count(const LabelsView& view, const SimdKernels& simd) {
  if (!suits_vectors(view)) return reference::count(view);
  Counted counted;
  const std::int64_t shift = std::min(view.shift, view.cols);
  if (view.rows == 0 || shift == view.cols) return counted;
  const Scored scored(view, simd);
  const bool one_piece = view.labels.row_stride == view.cols && (!view.mask || view.mask.row_stride == view.cols);
  if (one_piece && shift <= 1) {
    // One long run is faster than many short ones, even if the first column has to be taken off again.
    counted.tokens = scored.run(0, 0, view.rows * view.cols);
    if (shift == 1) counted.tokens -= scored.columns(0, 1);
  } else {
    counted.tokens = scored.columns(shift, view.cols);
  }
  return counted;
}

}  // namespace tokavg::host
