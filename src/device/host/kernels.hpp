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
  void reserve(const CrossEntropy& ce, const RowKernels& kernels, std::size_t workers);
  void lend(std::size_t worker, RowTask& task) noexcept;

 private:
  std::vector<float> floats_;
  std::vector<double> doubles_;
  // For each worker:
  std::size_t blocks_ = 0;          // references
  std::size_t columns_ = 0;         // exponentials
  std::size_t worker_doubles_ = 0;  // the reference's numbers
};

[[nodiscard]] Counted count(const LabelsView& labels, const SimdKernels& simd);
[[nodiscard]] Recorded token_losses(const TokenLosses& losses, const SimdKernels& simd);
[[nodiscard]] Recorded cross_entropy(const CrossEntropy& ce, const RowKernels& kernels, Workers& workers,
                                     RowScratch& scratch);
void scale(const ArrayView& array, std::int64_t count, double factor, const SimdKernels& simd, Workers& workers);

// Those for the logits' type; the reference's where a cap is beyond what float can do.
[[nodiscard]] RowKernels row_kernels(const SimdKernels& simd, const CrossEntropy& ce);

}  // namespace tokavg::host
