// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/cross_entropy_plan.hpp"
#include "device/cuda/kernels.hpp"
#include "tokavg/types.h"

namespace tokavg::cuda {

RowsTask rows_task(const CrossEntropy& ce, const Multiplier& gradient_scale, TermCell* cell) {
  const std::int64_t element_size = ce.logits.dtype == TOKAVG_DTYPE_F32 ? 4 : 2;
  return {ce,
          gradient_scale,
          cell,
          ce.labels.rows * ce.labels.cols,
          RowPlan(ce.vocab, element_size),
          ce.label_smoothing / static_cast<double>(ce.vocab)};
}

void launch_cross_entropy(const CrossEntropy& ce, const Multiplier& gradient_scale, TermCell* cell,
                          cudaStream_t stream) {
  const RowsTask task = rows_task(ce, gradient_scale, cell);
  if (task.rows == 0) return;
  if (cluster_can(task)) {
    launch_cluster_rows(task, stream);
  } else {
    launch_block_rows(task, stream);
  }
}

}  // namespace tokavg::cuda
