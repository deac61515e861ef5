// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Contiguous runs of F32, F64, BF16 or F16 as doubles and back.
namespace tokavg::host {

std::size_t size_of(std::int32_t dtype);

// Exact.
void load(const void* from, std::int32_t dtype, std::span<double> values);

// Each value is rounded once, to nearest even.
void store(std::span<const double> values, std::int32_t dtype, void* to);

// All bytes zero is +0.0 in each of the four types.
void store_zeros(std::int64_t count, std::int32_t dtype, void* to);

}  // namespace tokavg::host
