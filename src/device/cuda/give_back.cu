// SPDX-License-Identifier: Apache-2.0
// What a loss call gives back, and losses that are one value.
#include "device/cuda/cell_sums.hpp"
#include "device/cuda/gpu.hpp"
#include "device/cuda/state.hpp"

namespace tokavg::cuda {
namespace {

__global__ void give_back_kernel(TermCell* scratch, TermCell* target, const double* factor, StreamOutputs out) {
  const TermCell call = *scratch;
  *scratch = TermCell{};
  const FixedSum sum = sum_of(call.losses);
  target->bad_labels += call.bad_labels;
  target->bad_weights += call.bad_weights;
  target->loss_tokens += call.loss_tokens;
  target->nonfinite += call.nonfinite;
  add(sum, target->losses);
  give_back(loss_sum(sum, call.nonfinite), factor != nullptr ? *factor : 1.0, out);
}

__device__ double read(const ArrayView& value) {
  return value.dtype == TOKAVG_DTYPE_F64 ? *static_cast<const double*>(value.data)
                                         : static_cast<double>(*static_cast<const float*>(value.data));
}

// Tokens that were counted and are in no loss yet.
__device__ Word open_tokens(const ValueTask& task) {
  Word counted = task.value.host_counted;
  Word recorded = task.value.host_recorded;
  if (task.slot != nullptr) {  // what the host counted is in it; what it recorded since is not
    counted = task.slot->counted[task.term];
    recorded += task.slot->recorded[task.term] + task.slot->terms[task.term].loss_tokens;
  } else {
    for (int cell = 0; cell < kCells; ++cell) {
      if (((task.kept >> cell) & 1U) == 0) continue;
      counted += task.bank->cells[cell][task.term].tokens;
      recorded += task.bank->cells[cell][task.term].loss_tokens;
    }
  }
  return counted > recorded ? counted - recorded : 0;
}

__global__ void value_kernel(ValueTask task) {
  const bool asks = task.value.tokens == -1;
  const Word tokens = asks ? open_tokens(task) : static_cast<Word>(task.value.tokens);
  FixedSum sum;
  Word nonfinite = 0;
  if (tokens != 0) {
    const double value = read(task.value.value);
    const double x = task.value.is_mean ? value * static_cast<double>(tokens) : value;
    if (fabs(x) <= kSumLimit) {
      sum.add(x);
    } else {
      nonfinite = 1;
    }
  }
  task.target->loss_tokens += tokens;
  task.target->unaudited += asks ? 1 : 0;
  task.target->nonfinite += nonfinite;
  add(sum, task.target->losses);
  give_back(loss_sum(sum, nonfinite), task.factor != nullptr ? *task.factor : 1.0, task.out);
}

}  // namespace

void launch_give_back(TermCell* scratch, TermCell* target, const double* factor, const StreamOutputs& out,
                      cudaStream_t stream) {
  launch("give_back_kernel", {}, stream, give_back_kernel, scratch, target, factor, out);
}

void launch_value(const ValueTask& task, cudaStream_t stream) {
  launch("value_kernel", {}, stream, value_kernel, task);
}

}  // namespace tokavg::cuda
