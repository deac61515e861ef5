// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "device/host/cross_entropy_row.hpp"

// The host's kernels in the vector instructions of the processor that runs them. There is one table for each target,
// all tables give the same bits, and a device chooses one when it is made.
namespace tokavg::host {

// A sum cut into units of 2^-8, 2^-40 and 2^-72 (base/fixed_point.hpp).
struct FixedParts {
  std::int64_t high = 0;
  std::int64_t middle = 0;
  std::int64_t low = 0;
  std::int64_t out_of_range = 0;  // values that are not in it: NaN, infinite, or 2^22 and more
  std::int64_t tokens = 0;        // scored labels, where there were labels
};

// One kernel for each dtype that an argument may have.
struct SimdKernels {
  const char* name;  // as TOKAVG_SIMD spells it

  // How many of n labels are not `ignored`; with a mask only those whose byte is not 0.
  std::int64_t (*count_i32)(const std::int32_t* labels, std::int64_t n, std::int32_t ignored);
  std::int64_t (*count_i64)(const std::int64_t* labels, std::int64_t n, std::int64_t ignored);
  std::int64_t (*count_masked_i32)(const std::int32_t* labels, const std::uint8_t* mask, std::int64_t n,
                                   std::int32_t ignored);
  std::int64_t (*count_masked_i64)(const std::int64_t* labels, const std::uint8_t* mask, std::int64_t n,
                                   std::int64_t ignored);

  // Of n < 2^31 values, or of those whose label is not `ignored`.
  using Sum = FixedParts (*)(const void* values, std::int64_t n);
  using SumLabelled = FixedParts (*)(const void* values, const void* labels, std::int64_t n, std::int64_t ignored);
  Sum sum_f32;
  Sum sum_f64;
  SumLabelled sum_f32_i32;
  SumLabelled sum_f32_i64;
  SumLabelled sum_f64_i32;
  SumLabelled sum_f64_i64;

  using Scale = void (*)(void* data, std::int64_t count, double factor);
  Scale scale_f32;
  Scale scale_f64;
  Scale scale_bf16;
  Scale scale_f16;

  RowKernels row_f32;
  RowKernels row_bf16;
  RowKernels row_f16;
};

// The table of a target by name; "auto" and "" are the best that this processor has. Throws Error where it has none.
const SimdKernels& choose_simd(const std::string& name);

}  // namespace tokavg::host
