// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/device.hpp"

// The reference: what these functions return is right by definition, and other kernels are compared with them. They are
// written to be read; all arithmetic is in double, in the order of rows, columns and classes.
namespace tokavg::host {

[[nodiscard]] Counted count(const LabelsView& labels);
[[nodiscard]] Recorded token_losses(const TokenLosses& losses);
[[nodiscard]] Recorded cross_entropy(const CrossEntropy& ce);
void scale(const ArrayView& array, std::int64_t count, double factor);

// One token whose loss is l more. Without weights w is 1.
void record(double w, double l, Recorded& recorded);

}  // namespace tokavg::host
