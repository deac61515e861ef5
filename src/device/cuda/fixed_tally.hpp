// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "base/fixed_point.hpp"
#include "device/cuda/cell.hpp"
#include "device/cuda/gpu.hpp"

// Sums in fixed point (base/fixed_point.hpp), a thread's and a block's. Integers only, so no order shows.
namespace tokavg::cuda {

// One thread's sum of numbers in units of 2^-72: high * 2^64 + middle * 2^32 + low.
struct FixedTally {
  std::int64_t high = 0;
  std::int64_t middle = 0;
  std::int64_t low = 0;
  std::uint32_t added = 0;  // since the last carry

  // |x| < kTokenLimit. x * 2^72 rounded half to even, in two steps that 64 bits hold; each difference is exact.
  __device__ void add(double x) {
    const double scaled = x * 0x1p40;
    const double whole = std::rint(scaled);
    const auto v = static_cast<std::int64_t>(whole);
    high += v >> 32;
    middle += v & 0xffffffff;
    low += static_cast<std::int64_t>(std::rint((scaled - whole) * 0x1p32));
    if (++added == 1U << 30) carry();
  }

  // Leaves 32 bits each in middle and low.
  __device__ void carry() {
    middle += low >> 32;
    low &= 0xffffffff;
    high += middle >> 32;
    middle &= 0xffffffff;
    added = 0;
  }

  __device__ void add_to(Word (&limbs)[4]) {
    carry();
    if (low != 0) atomicAdd(&limbs[0], static_cast<Word>(low));
    if (middle != 0) atomicAdd(&limbs[1], static_cast<Word>(middle));
    if (high != 0) {
      atomicAdd(&limbs[2], static_cast<Word>(high & 0xffffffff));
      atomicAdd(&limbs[3], static_cast<Word>(high >> 32));
    }
  }
};

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kMostWarps = 32;  // of a block

// The sums over the block of what its threads have; thread 0 has them in the end. Once a kernel.
template <int kCount>
__device__ inline void sum_over_block(std::int64_t (&values)[kCount]) {
  __shared__ std::int64_t of_warps[kMostWarps][kCount];
  const unsigned lane = threadIdx.x % kWarp;
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
      values[i] += __shfl_down_sync(kAllLanes, values[i], static_cast<unsigned>(distance));
    }
    if (lane == 0) of_warps[threadIdx.x / kWarp][i] = values[i];
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < blockDim.x / kWarp; ++warp) {
    for (int i = 0; i < kCount; ++i) values[i] += of_warps[warp][i];
  }
}

}  // namespace tokavg::cuda
