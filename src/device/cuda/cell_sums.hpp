// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/fixed_point.hpp"
#include "device/cuda/cell.hpp"
#include "device/cuda/gpu.hpp"
#include "device/stream_device.hpp"

// Cells read and written by a single thread.
namespace tokavg::cuda {

__device__ inline FixedSum sum_of(const Word limbs[4]) { return from_limbs({limbs[0], limbs[1], limbs[2], limbs[3]}); }

__device__ inline void add(const FixedSum& sum, Word limbs[4]) {
  const Limbs more = to_limbs(sum);
  for (int i = 0; i < 4; ++i) atomicAdd(&limbs[i], static_cast<Word>(more[static_cast<std::size_t>(i)]));
}

// S, or the quiet NaN where a loss was not finite.
__device__ inline double loss_sum(const FixedSum& sum, Word nonfinite) {
  return nonfinite != 0 || sum.too_large() ? std::bit_cast<double>(std::uint64_t{0x7ff8000000000000U}) : sum.value();
}

__device__ inline void give_back(double sum, double factor, const StreamOutputs& out) {
  if (out.sum != nullptr) *out.sum = sum;
  if (out.backward == nullptr) return;
  const double scale = out.loss_scale_device != nullptr ? static_cast<double>(*out.loss_scale_device) : 1.0;
  // Where nothing is divided (factor 0) there is nothing to go back, not even a NaN.
  const double backward = factor == 0 ? 0.0 : sum * factor * out.loss_scale * scale;
  if (out.backward_dtype == TOKAVG_DTYPE_F64) {
    *static_cast<double*>(out.backward) = backward;
  } else {
    *static_cast<float*>(out.backward) = static_cast<float>(backward);
  }
}

}  // namespace tokavg::cuda
