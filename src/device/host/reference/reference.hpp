// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "device/host/cross_entropy_row.hpp"

// The reference: what these functions return is right by definition, and the vector kernels (simd/) are compared with
// them. They are written to be read; all arithmetic is in double, in the order of rows, columns and classes. They also
// serve the layouts that are too rare for a vector kernel.
namespace tokavg::host::reference {

[[nodiscard]] Counted count(const LabelsView& labels);
[[nodiscard]] Recorded token_losses(const TokenLosses& losses);
void scale(const ArrayView& array, std::int64_t count, double factor);
[[nodiscard]] RowKernels row_kernels(std::int32_t dtype);

}  // namespace tokavg::host::reference
