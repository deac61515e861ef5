// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// What the kernels are divided by: loops that do nothing but what no kernel can do without, in the same vector
// instructions.
namespace tokavg_bench {

struct Yardsticks {
  const char* simd;  // as TOKAVG_SIMD spells it

  // Loads every byte once. The result depends on all of them: the sum of the 64-bit words. `bytes` is a multiple of
  // 1024.
  std::uint64_t (*read)(const void* data, std::size_t bytes);
  // The same, in four places at once: the fastest read that we know, where no cache holds the bytes.
  std::uint64_t (*read_streams)(const void* data, std::size_t bytes);
  // Loads and stores every byte once: each 64-bit word becomes itself ^ `flip`.
  void (*read_write)(void* data, std::size_t bytes, std::uint64_t flip);
  // The library's own exponential of n values, a multiple of 64.
  void (*exp)(const float* from, float* to, std::size_t n);
};

// Those of a target by its name; "" and "auto" are the best that this processor has. nullptr where it has none.
[[nodiscard]] const Yardsticks* find_yardsticks(const std::string& simd);

// The targets of this processor, the best one first.
[[nodiscard]] std::vector<std::string> simd_targets();

}  // namespace tokavg_bench
