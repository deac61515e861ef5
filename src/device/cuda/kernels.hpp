// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <span>

#include "device/cuda/cell.hpp"
#include "device/device.hpp"

// The work on labels, losses, logits and gradients, enqueued on a stream. All arrays are device memory; all pointers
// to cells and factors too. What depends on the values and is wrong (a bad label, a bad weight) is counted.
namespace tokavg::cuda {

// What a kernel multiplies with: factor (device, double; nullptr: 1) * scale (host) * *scale_device (nullptr: 1), in
// double. Where *factor is 0, zeros are written, also over NaN.
struct Multiplier {
  const double* factor = nullptr;
  double scale = 1;
  const float* scale_device = nullptr;
};

// n, weights and bad weights of the labels.
void launch_count(const LabelsView& labels, TermCell* cell, cudaStream_t stream);

// S, its tokens and non-finite values.
void launch_token_losses(const TokenLosses& losses, TermCell* cell, cudaStream_t stream);

// Losses, and what else `ce` asks for; its `factor` is ignored, `gradient_scale` is taken instead. A scored label
// outside the vocabulary gets loss NaN (non-finite), gradient row 0, lse 0, argmax -1, and is counted.
void launch_cross_entropy(const CrossEntropy& ce, const Multiplier& gradient_scale, TermCell* cell,
                          cudaStream_t stream);

struct ScaleArray {
  void* data = nullptr;
  std::int64_t count = 0;
  std::int32_t dtype = 0;  // F32, F64, BF16, F16
};

// Multiplies all arrays in place; as few launches as the kernel's parameters allow.
void launch_scale(std::span<const ScaleArray> arrays, const Multiplier& multiplier, cudaStream_t stream);

}  // namespace tokavg::cuda
