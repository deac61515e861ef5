// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/fixed_tally.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/processor.hpp"
#include "device/cuda/tokens.hpp"

namespace tokavg::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kBlocksAtOnce = 8;  // of a processor

struct Losses {
  std::int64_t rows;
  std::int64_t cols;
  ArrayView values;
  bool labelled;
  LabelsView labels;
};

// One thread's share of a call.
struct Tally {
  std::int64_t tokens = 0;
  std::int64_t nonfinite = 0;
  std::int64_t bad_weights = 0;
  FixedTally sum;
};

__device__ void add(const Losses& losses, std::int64_t r, std::int64_t c, Tally& tally) {
  double w = 1;
  if (losses.labelled) {
    if (!is_scored(losses.labels, r, c)) return;
    w = weight_at(losses.labels, r, c);
  }
  ++tally.tokens;
  if (w == 0) return;  // its loss may be anything
  const double x = w * real_at(losses.values, r, c);
  const bool bad = losses.labelled && is_bad_weight(losses.labels, w);
  if (bad) ++tally.bad_weights;
  if (!bad && std::fabs(x) < kTokenLimit) {
    tally.sum.add(x);
  } else {
    ++tally.nonfinite;
  }
}

__global__ void __launch_bounds__(kThreads) token_losses_kernel(Losses losses, TermCell* cell) {
  Tally tally;
  const std::int64_t first_col = losses.labelled ? losses.labels.shift : 0;
  for (Walk at(losses.rows, losses.cols, first_col); !at.ended(); at.next()) add(losses, at.row(), at.col(), tally);
  FixedTally& sum = tally.sum;
  sum.carry();
  std::int64_t sums[6] = {tally.tokens, tally.nonfinite, tally.bad_weights, sum.high, sum.middle, sum.low};
  sum_over_block(sums);
  if (threadIdx.x != 0 || sums[0] == 0) return;
  atomicAdd(&cell->loss_tokens, static_cast<Word>(sums[0]));
  if (sums[1] != 0) atomicAdd(&cell->nonfinite, static_cast<Word>(sums[1]));
  if (sums[2] != 0) atomicAdd(&cell->bad_weights, static_cast<Word>(sums[2]));
  FixedTally{sums[3], sums[4], sums[5]}.add_to(cell->losses);
}

}  // namespace

void launch_token_losses(const TokenLosses& losses, TermCell* cell, cudaStream_t stream) {
  Losses task{losses.rows, losses.cols, losses.losses, losses.labels != nullptr, {}};
  if (task.labelled) task.labels = *losses.labels;
  if (task.rows == 0 || task.cols == 0 || (task.labelled && task.cols <= task.labels.shift)) return;
  const LaunchShape shape{.blocks = blocks_for(task.rows * task.cols, kThreads * 4, kBlocksAtOnce),
                          .threads = kThreads};
  launch("token_losses_kernel", shape, stream, token_losses_kernel, task, cell);
}

}  // namespace tokavg::cuda
