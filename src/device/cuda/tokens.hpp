// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "base/fixed_point.hpp"
#include "device/cuda/gpu.hpp"
#include "device/device.hpp"
#include "tokavg/types.h"

// Which tokens of one call count, and how much; what host/tokens.hpp is to the host.
namespace tokavg::cuda {

__device__ inline std::int64_t element(const ArrayView& array, std::int64_t r, std::int64_t c) {
  return r * array.row_stride + c * array.col_stride;
}

// F32 or F64.
__device__ inline double real_at(const ArrayView& array, std::int64_t r, std::int64_t c) {
  const std::int64_t at = element(array, r, c);
  return array.dtype == TOKAVG_DTYPE_F32 ? static_cast<double>(static_cast<const float*>(array.data)[at])
                                         : static_cast<const double*>(array.data)[at];
}

__device__ inline std::int64_t label_at(const LabelsView& view, std::int64_t r, std::int64_t c) {
  const std::int64_t at = element(view.labels, r, c);
  return view.labels.dtype == TOKAVG_DTYPE_I32 ? static_cast<const std::int32_t*>(view.labels.data)[at]
                                               : static_cast<const std::int64_t*>(view.labels.data)[at];
}

__device__ inline bool is_unmasked(const LabelsView& view, std::int64_t r, std::int64_t c) {
  return view.mask.data == nullptr || static_cast<const std::uint8_t*>(view.mask.data)[element(view.mask, r, c)] != 0;
}

// c >= view.shift
__device__ inline bool is_scored(const LabelsView& view, std::int64_t r, std::int64_t c) {
  return label_at(view, r, c) != view.ignore_index && is_unmasked(view, r, c);
}

__device__ inline double weight_at(const LabelsView& view, std::int64_t r, std::int64_t c) {
  return view.weights.data != nullptr ? real_at(view.weights, r, c) : 1.0;
}

__device__ inline bool is_bad_weight(const LabelsView& view, double w) {
  return !(std::fabs(w) < kTokenLimit) || (view.weights_divide && w < 0);
}

// The places (r, c) with c >= first_col that are this thread's, when all threads of the grid walk side by side.
class Walk {
 public:
  // 0 <= first_col < cols
  __device__ Walk(std::int64_t rows, std::int64_t cols, std::int64_t first_col)
      : rows_(rows), cols_(cols), width_(cols - first_col) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    const std::int64_t start = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    row_ = start / width_;
    col_ = first_col + start % width_;
    row_step_ = step / width_;
    col_step_ = step % width_;
  }

  __device__ bool ended() const { return row_ >= rows_; }
  __device__ std::int64_t row() const { return row_; }
  __device__ std::int64_t col() const { return col_; }
  __device__ void next() {
    row_ += row_step_;
    col_ += col_step_;
    if (col_ < cols_) return;
    col_ -= width_;
    ++row_;
  }

 private:
  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t width_;
  std::int64_t row_;
  std::int64_t col_;
  std::int64_t row_step_;
  std::int64_t col_step_;
};

}  // namespace tokavg::cuda
