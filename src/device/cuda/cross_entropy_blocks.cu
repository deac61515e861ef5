// SPDX-License-Identifier: Apache-2.0
// A row a block: a pass over the logits for the sums, and one, out of the cache, for the gradient.
#include "device/cuda/cross_entropy_gradient.hpp"
#include "device/cuda/cross_entropy_launch.hpp"

namespace tokavg::cuda {
namespace {

constexpr int kInFlight = 4;  // packets that a thread loads at once

struct BlockShared {
  RowShared of_row;
  RowSums of_warps[kMostChunks][kRowWarps];
};

template <typename Stored, typename CapKind>
class BlockRows {
 public:
  __device__ explicit BlockRows(const RowsTask& task)
      : task_(task), cap_(task.ce.softcap), shared_(*reinterpret_cast<BlockShared*>(shared_memory())) {}

  __device__ void run() {
    for_each_row(task_, blockIdx.x, gridDim.x, shared_.of_row, [this](const Row& row, const auto& find_next) {
      find_next();
      if (row.kind == RowKind::kScored) {
        score(row);
      } else {
        pass_over(row);
      }
    });
    if (threadIdx.x == kResultThread) shared_.of_row.recorded.add_to(*task_.cell);
  }

 private:
  __device__ void pass_over(const Row& row) {
    if (threadIdx.x == kResultThread) write_results(task_.ce, row, RowEnd(), shared_.of_row.recorded);
    const Chunk whole{0, task_.plan.vocab, -1};
    Stored* gradient = gradient_at<Stored>(task_.ce, row, whole);
    if (gradient != nullptr) fill(gradient, whole.columns, from_float<Stored>(0.0F));
  }

  __device__ Chunk chunk_of(const Row& row, int number) const {
    Chunk chunk;
    chunk.begin = number * task_.plan.chunk_columns;
    chunk.columns = std::min(task_.plan.chunk_columns, task_.plan.vocab - chunk.begin);
    chunk.label = row.label - chunk.begin;
    return chunk;
  }

  __device__ void score(const Row& row) {
    RowShared& shared = shared_.of_row;
    const Stored* logits = row_at<const Stored>(task_.ce.logits, row);
    if (threadIdx.x == 0) shared.end.logit = static_cast<double>(to_float(logits[row.label]));
    begin_row(row, logits);
    finish_row<Stored>(task_, row, cap_, true, shared);
    if (task_.ce.gradient.data == nullptr) return;
    for (int number = 0; number < task_.plan.chunks; ++number) {
      const Chunk chunk = chunk_of(row, number);
      write_gradient<kInFlight>(chunk, cap_, row, shared.end, logits + chunk.begin,
                                gradient_at<Stored>(task_.ce, row, chunk));
    }
  }

  __device__ void begin_row(const Row& row, const Stored* logits) {
    RowShared& shared = shared_.of_row;
    const RowSums sums =
        wants_full_pass(task_.ce) ? sum<Pass::kFull>(row, logits, 0) : sum<Pass::kPlain>(row, logits, 0);
    if (threadIdx.x == 0) begin_end(row, sums, cap_, shared.end);
    __syncthreads();
    if (!shared.end.far) return;
    const float base = shared.end.reference;
    const RowSums shifted = sum<Pass::kShifted>(row, logits, base);
    if (threadIdx.x == 0) set_others(shifted, base, shared.end);
    __syncthreads();
  }

  // Of the row; thread 0 has them.
  template <Pass kPass>
  __device__ RowSums sum(const Row& row, const Stored* logits, float base) {
    const int chunks = task_.plan.chunks;
    RowSums sums;
#pragma unroll 1
    for (int number = 0; number < chunks; ++number) {
      const Chunk chunk = chunk_of(row, number);
      sums = merge_lanes(sum_chunk<kPass>(chunk, logits + chunk.begin, base));
      if (threadIdx.x % kWarp == 0) shared_.of_warps[number][threadIdx.x / kWarp] = sums;
    }
    __syncthreads();
    if (threadIdx.x >= kWarp) return sums;
    const int lane = static_cast<int>(threadIdx.x);  // a chunk each
    if (lane < chunks) sums = merge_in_order(shared_.of_warps[lane], static_cast<int>(kRowWarps));
    RowSums all = of_lane(sums, 0);
    for (int number = 1; number < chunks; ++number) merge(all, of_lane(sums, number));
    return all;
  }

  template <Pass kPass>
  __device__ RowSums sum_chunk(const Chunk& chunk, const Stored* logits, float base) const {
    ChunkSums<Stored, CapKind, kPass> sums(logits, chunk, cap_, base);
    constexpr int kStep = static_cast<int>(kRowThreads) * kPerPacket<Stored>;
    int column = static_cast<int>(threadIdx.x) * kPerPacket<Stored>;
#pragma unroll 1
    for (; column + (kInFlight - 1) * kStep < chunk.columns; column += kInFlight * kStep) {
      Packet packet[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) packet[k] = sums.load(column + k * kStep);
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) sums.add(packet[k], column + k * kStep);
    }
#pragma unroll 1
    for (; column < chunk.columns; column += kStep) sums.add(sums.load(column), column);
    return sums.sums();
  }

  const RowsTask& task_;
  CapKind cap_;
  BlockShared& shared_;
};

template <typename Stored, typename CapKind>
__global__ void __launch_bounds__(kRowThreads, CapKind::kBlocks) block_kernel(const __grid_constant__ RowsTask task) {
  BlockRows<Stored, CapKind>(task).run();
}

struct LaunchBlocks {
  template <typename Stored, typename CapKind>
  static void run(const RowsTask& task, cudaStream_t stream) {
    const LaunchShape shape{
        .blocks = blocks_for_rows(task.rows, 1), .threads = kRowThreads, .shared_bytes = sizeof(BlockShared)};
    launch("cross_entropy_block_kernel", shape, stream, block_kernel<Stored, CapKind>, task);
  }
};

}  // namespace

void launch_block_rows(const RowsTask& task, cudaStream_t stream) { run_for_type<LaunchBlocks>(task, stream); }

}  // namespace tokavg::cuda
