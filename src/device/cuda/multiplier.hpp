// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/gpu.hpp"
#include "device/cuda/kernels.hpp"

namespace tokavg::cuda {

// 0 where the factor is: then nothing is divided, whatever it would be scaled with.
__device__ inline double value_of(const Multiplier& multiplier) {
  const double factor = multiplier.factor != nullptr ? *multiplier.factor : 1.0;
  if (factor == 0) return 0.0;
  const double scale = multiplier.scale_device != nullptr ? static_cast<double>(*multiplier.scale_device) : 1.0;
  return factor * multiplier.scale * scale;
}

}  // namespace tokavg::cuda
