// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.hpp"
#include "device/cuda/cross_entropy_exp.hpp"
#include "device/cuda/cross_entropy_plan.hpp"
#include "device/cuda/elements.hpp"
#include "device/cuda/processor.hpp"
#include "tokavg/types.h"

// What the launches of rows of logits have in common.
namespace tokavg::cuda {

// Many more than run at once, so that they can be handed out as processors become free.
inline unsigned blocks_for_rows(std::int64_t rows, unsigned blocks_of_row) {
  constexpr int kOfProcessor = 96;
  const auto blocks = static_cast<std::int64_t>(attribute(cudaDevAttrMultiProcessorCount)) * kOfProcessor;
  const std::int64_t most = std::max<std::int64_t>(1, blocks / blocks_of_row);
  return static_cast<unsigned>(std::min(rows, most));
}

// Call::run<Stored, CapKind>(task, more...) for the types of a task.
template <typename Call, typename Stored, typename... More>
auto run_for_cap(const RowsTask& task, More... more) {
  return task.ce.softcap == 0 ? Call::template run<Stored, NoCap>(task, more...)
                              : Call::template run<Stored, Cap>(task, more...);
}

template <typename Call, typename... More>
auto run_for_type(const RowsTask& task, More... more) {
  switch (task.ce.logits.dtype) {
    case TOKAVG_DTYPE_F32: return run_for_cap<Call, float>(task, more...);
    case TOKAVG_DTYPE_BF16: return run_for_cap<Call, Bf16>(task, more...);
    case TOKAVG_DTYPE_F16: return run_for_cap<Call, F16>(task, more...);
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is no type of logits", task.ce.logits.dtype);
  }
}

}  // namespace tokavg::cuda
