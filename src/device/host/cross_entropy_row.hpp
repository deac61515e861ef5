// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/device.hpp"

// Cross entropy of one row of logits: what the vector kernels (simd/) and the reference have in common.
namespace tokavg::host {

inline constexpr std::int64_t kBlockColumns = 1024;  // columns whose exponentials share one reference point

struct RowTask {
  const CrossEntropy* ce = nullptr;
  const void* logits = nullptr;  // ce->vocab values
  void* gradient = nullptr;      // the same, and perhaps the same memory; nullptr: none is wanted
  std::int64_t label = 0;        // from 0
  double scale = 0;              // of the gradient: weight * factor; 0 writes zeros, also over NaN
  // Scratch of the vector kernels, where there is a gradient.
  float* references = nullptr;  // one for each block of columns
  float* exps = nullptr;        // one for each column, up to the end of its block; not for F32 logits
  double* doubles = nullptr;    // of the reference: RowKernels::doubles for each column
};

struct RowResult {
  double lse = 0;
  double loss = 0;
};

struct RowKernels {
  RowResult (*evaluate)(const RowTask& task) = nullptr;
  // The first class with the largest logit. NaN is larger than nothing.
  std::int64_t (*largest)(const void* logits, std::int64_t vocab) = nullptr;
  std::int64_t doubles = 0;  // of scratch for each column
};

}  // namespace tokavg::host
