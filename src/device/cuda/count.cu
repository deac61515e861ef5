// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "device/cuda/elements.hpp"
#include "device/cuda/fixed_tally.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/processor.hpp"
#include "device/cuda/tokens.hpp"

namespace tokavg::cuda {
namespace {

constexpr unsigned kThreads = 512;
constexpr int kBlocksAtOnce = 4;                           // of a processor
constexpr std::int64_t kOneBlock = std::int64_t{1} << 16;  // labels for which a second one does not pay
constexpr int kInFlight = 4;                               // loads of 16 bytes

template <typename Label>
__device__ int others_in(const Packet& packet, Label ignored) {
  constexpr int kLabels = kPerPacket<Label>;
  int others = 0;
#pragma unroll
  for (int i = 0; i < kLabels; ++i) {
    if constexpr (sizeof(Label) == sizeof(std::int32_t)) {
      others += static_cast<int>(packet.word[i]) != ignored ? 1 : 0;
    } else {
      const auto label = static_cast<std::int64_t>(packet.word[2 * i] | std::uint64_t{packet.word[2 * i + 1]} << 32);
      others += label != ignored ? 1 : 0;
    }
  }
  return others;
}

// How many of n neighbours are not `ignored`, this thread's share of it. Counted in 32 bits for a few labels at a time.
template <typename Label>
__device__ std::int64_t count_run(const Label* labels, std::int64_t n, Label ignored) {
  constexpr int kLabels = kPerPacket<Label>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const Stretch<Label> stretch(labels, n);
  const Label* body = labels + stretch.head;
  std::int64_t tokens = 0;
  std::int64_t i = thread;
  for (; i + (kInFlight - 1) * step < stretch.packets; i += kInFlight * step) {
    Packet packet[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) packet[k] = load_streaming(body + (i + k * step) * kLabels);
    int few = 0;
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) few += others_in(packet[k], ignored);
    tokens += few;
  }
  for (; i < stretch.packets; i += step) tokens += others_in(load_streaming(body + i * kLabels), ignored);
  if (thread < stretch.head) tokens += labels[thread] != ignored ? 1 : 0;
  if (thread < stretch.tail) tokens += labels[stretch.tail_begin() + thread] != ignored ? 1 : 0;
  return tokens;
}

// Rows that follow each other without a gap. One long run is faster than many short ones, even if the first columns
// have to be taken off again.
template <typename Label>
__global__ void __launch_bounds__(kThreads) count_run_kernel(LabelsView view, TermCell* cell) {
  const auto* labels = static_cast<const Label*>(view.labels.data);
  const auto ignored = static_cast<Label>(view.ignore_index);
  std::int64_t tokens[1] = {count_run(labels, view.rows * view.cols, ignored)};
  if (view.shift > 0) {
    LabelsView first = view;
    first.cols = view.shift;
    for (Walk at(first.rows, first.cols, 0); !at.ended(); at.next()) {
      tokens[0] -= labels[at.row() * view.cols + at.col()] != ignored ? 1 : 0;
    }
  }
  sum_over_block(tokens);
  if (threadIdx.x == 0) atomicAdd(&cell->tokens, static_cast<Word>(tokens[0]));
}

// Labels, masks and weights of any layout.
__global__ void __launch_bounds__(kThreads) count_kernel(LabelsView view, TermCell* cell) {
  const bool weighted = view.weights.data != nullptr;
  std::int64_t tokens = 0;
  std::int64_t bad = 0;
  FixedTally weights;
  for (Walk at(view.rows, view.cols, view.shift); !at.ended(); at.next()) {
    if (!is_scored(view, at.row(), at.col())) continue;
    ++tokens;
    if (!weighted) continue;
    const double w = weight_at(view, at.row(), at.col());
    if (is_bad_weight(view, w)) {
      ++bad;
    } else {
      weights.add(w);
    }
  }
  weights.carry();
  std::int64_t sums[5] = {tokens, bad, weights.high, weights.middle, weights.low};
  sum_over_block(sums);
  if (threadIdx.x != 0 || sums[0] == 0) return;
  atomicAdd(&cell->tokens, static_cast<Word>(sums[0]));
  if (!weighted) return;
  atomicAdd(&cell->weighted, static_cast<Word>(sums[0]));
  if (sums[1] != 0) atomicAdd(&cell->bad_weights, static_cast<Word>(sums[1]));
  FixedTally{sums[2], sums[3], sums[4]}.add_to(cell->weights);
}

bool is_one_run(const LabelsView& view) {
  const bool fits = view.labels.dtype == TOKAVG_DTYPE_I64 || std::in_range<std::int32_t>(view.ignore_index);
  const bool plain = view.mask.data == nullptr && view.weights.data == nullptr;
  const bool gapless = view.labels.col_stride == 1 && (view.rows == 1 || view.labels.row_stride == view.cols);
  return fits && plain && gapless && view.shift <= view.cols / 16;
}

}  // namespace

void launch_count(const LabelsView& labels, TermCell* cell, cudaStream_t stream) {
  if (labels.rows == 0 || labels.cols <= labels.shift) return;
  const std::int64_t n = labels.rows * labels.cols;
  LaunchShape shape{.threads = kThreads};
  if (n > kOneBlock) shape.blocks = blocks_for(n, kThreads * 16, kBlocksAtOnce);
  if (!is_one_run(labels)) {
    launch("count_kernel", shape, stream, count_kernel, labels, cell);
  } else if (labels.labels.dtype == TOKAVG_DTYPE_I32) {
    launch("count_run_kernel", shape, stream, count_run_kernel<std::int32_t>, labels, cell);
  } else {
    launch("count_run_kernel", shape, stream, count_run_kernel<std::int64_t>, labels, cell);
  }
}

}  // namespace tokavg::cuda
