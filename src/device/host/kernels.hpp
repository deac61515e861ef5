// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "device/host/cross_entropy_row.hpp"
#include "device/host/simd/kernels.hpp"
#include "device/host/workers.hpp"

// What the host device does, in whole calls: the layouts that vectors can walk through go to simd/, the others to
// reference/.
namespace tokavg::host {

// What each worker needs for one row at a time. It grows to what the largest vocabulary took and stays: fresh memory
// from the system would cost more than the row.
class RowScratch {
 public:
  void reserve(const CrossEntropy& ce, std::size_t workers);
  void lend(std::size_t worker, RowTask& task) noexcept;

 private:
  std::vector<float> memory_;
  std::size_t blocks_ = 0;   // for each worker, references
  std::size_t columns_ = 0;  // and exponentials
};

[[nodiscard]] Counted count(const LabelsView& labels, const SimdKernels& simd);
[[nodiscard]] Recorded token_losses(const TokenLosses& losses, const SimdKernels& simd);
[[nodiscard]] Recorded cross_entropy(const CrossEntropy& ce, const RowKernels& kernels, Workers& workers,
                                     RowScratch& scratch);
void scale(const ArrayView& array, std::int64_t count, double factor, const SimdKernels& simd, Workers& workers);

// Those for the logits' type.
[[nodiscard]] RowKernels row_kernels(const SimdKernels& simd, const CrossEntropy& ce);

}  // namespace tokavg::host
