// SPDX-License-Identifier: Apache-2.0
// A row in the shared memory of a cluster, a chunk a block. The chunk arrives in pieces and is summed as it comes; the
// blocks tell each other their sums and write their part of the gradient from what they hold.
#include "device/cuda/chunk_copy.hpp"
#include "device/cuda/cluster_fit.hpp"
#include "device/cuda/cross_entropy_gradient.hpp"
#include "device/cuda/cross_entropy_launch.hpp"

namespace tokavg::cuda {
namespace {

struct alignas(128) ClusterShared {
  RowShared of_row;
  ChunkCopy::Arrivals arrivals;
  RowSums of_warps[kRowWarps];
  RowSums of_chunks[2][kMostChunks];  // two, for a block may be one exchange ahead of another
};

template <typename Stored, typename CapKind>
class ClusterRows {
 public:
  __device__ explicit ClusterRows(const RowsTask& task)
      : task_(task),
        cap_(task.ce.softcap),
        shared_(*reinterpret_cast<ClusterShared*>(shared_memory())),
        copy_(shared_.arrivals, shared_memory() + sizeof(ClusterShared)),
        rank_(cluster_rank()) {
    chunk_.begin = static_cast<int>(rank_) * task.plan.chunk_columns;
    chunk_.columns = std::min(task.plan.chunk_columns, task.plan.vocab - chunk_.begin);
  }

  __device__ void run() {
    const auto chunks = static_cast<unsigned>(task_.plan.chunks);
    if (threadIdx.x == 0) copy_.init();
    for_each_row(task_, blockIdx.x / chunks, gridDim.x / chunks, shared_.of_row,
                 [this](const Row& row, const auto& find_next) {
                   if (row.kind == RowKind::kScored) {
                     score(row, find_next);
                   } else {
                     pass_over(row);
                     find_next();
                   }
                 });
    if (threadIdx.x == kResultThread && rank_ == 0) shared_.of_row.recorded.add_to(*task_.cell);
  }

 private:
  __device__ void pass_over(const Row& row) {
    RowShared& shared = shared_.of_row;
    if (threadIdx.x == kResultThread && rank_ == 0) write_results(task_.ce, row, RowEnd(), shared.recorded);
    Stored* gradient = gradient_at<Stored>(task_.ce, row, chunk_);
    if (gradient != nullptr) fill(gradient, chunk_.columns, from_float<Stored>(0.0F));
  }

  template <typename FindNext>
  __device__ void score(const Row& row, const FindNext& find_next) {
    RowShared& shared = shared_.of_row;
    const Stored* whole = row_at<const Stored>(task_.ce.logits, row);
    const auto* logits =
        reinterpret_cast<const Stored*>(copy_.start(reinterpret_cast<const unsigned char*>(whole + chunk_.begin),
                                                    chunk_.columns * static_cast<int>(sizeof(Stored))));
    if (threadIdx.x == 0) shared.end.logit = static_cast<double>(to_float(whole[row.label]));
    find_next();
    chunk_.label = row.label - chunk_.begin;
    if (task_.plan.chunks > 1 && !met_) cluster_sync();  // only then may the others' shared memory be written to
    met_ = true;
    begin_row(row, logits);
    finish_row<Stored>(task_, row, cap_, rank_ == 0, shared);
    Stored* gradient = gradient_at<Stored>(task_.ce, row, chunk_);
    if (gradient != nullptr) write_gradient<1>(chunk_, cap_, row, shared.end, logits, gradient);
  }

  __device__ void begin_row(const Row& row, const Stored* logits) {
    RowShared& shared = shared_.of_row;
    const bool full = wants_full_pass(task_.ce);
    const RowSums sums = exchange(full ? sum<Pass::kFull>(logits, 0) : sum<Pass::kPlain>(logits, 0));
    if (threadIdx.x == 0) begin_end(row, sums, cap_, shared.end);
    __syncthreads();
    if (!shared.end.far) return;
    const float base = shared.end.reference;
    const RowSums shifted = exchange(sum<Pass::kShifted>(logits, base));
    if (threadIdx.x == 0) set_others(shifted, base, shared.end);
    __syncthreads();
  }

  template <Pass kPass>
  __device__ RowSums sum(const Stored* logits, float base) const {
    ChunkSums<Stored, CapKind, kPass> sums(logits, chunk_, cap_, base);
    constexpr int kColumns = kPerPacket<Stored>;
    int column = static_cast<int>(threadIdx.x) * kColumns;
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      const int there = copy_.wait(piece) / static_cast<int>(sizeof(Stored));
      const int until = piece + 1 < kPieces ? there - kColumns + 1 : there;
#pragma unroll 1
      for (; column < until; column += static_cast<int>(kRowThreads) * kColumns) {
        sums.add(sums.load(column), column);
      }
    }
    return sums.sums();
  }

  // Of the row; thread 0 has them.
  __device__ RowSums exchange(RowSums sums) {
    sums = merge_lanes(sums);
    if (threadIdx.x % kWarp == 0) shared_.of_warps[threadIdx.x / kWarp] = sums;
    __syncthreads();
    const auto chunks = static_cast<unsigned>(task_.plan.chunks);
    if (chunks == 1) {
      if (threadIdx.x == 0) sums = merge_in_order(shared_.of_warps, static_cast<int>(kRowWarps));
      return sums;
    }
    RowSums* of_chunks = shared_.of_chunks[turn_];
    turn_ ^= 1;
    if (threadIdx.x < chunks) {
      *shared_of(&of_chunks[rank_], threadIdx.x) = merge_in_order(shared_.of_warps, static_cast<int>(kRowWarps));
    }
    cluster_sync();
    if (threadIdx.x == 0) sums = merge_in_order(of_chunks, static_cast<int>(chunks));
    return sums;
  }

  const RowsTask& task_;
  CapKind cap_;
  ClusterShared& shared_;
  ChunkCopy copy_;
  unsigned rank_;
  Chunk chunk_;
  int turn_ = 0;
  bool met_ = false;
};

template <typename Stored, typename CapKind>
__global__ void __launch_bounds__(kRowThreads, CapKind::kBlocks) cluster_kernel(const __grid_constant__ RowsTask task) {
  ClusterRows<Stored, CapKind>(task).run();
}

std::size_t shared_bytes(const RowsTask& task) {
  const std::size_t element = task.ce.logits.dtype == TOKAVG_DTYPE_F32 ? sizeof(float) : sizeof(F16);
  return sizeof(ClusterShared) + sizeof(Packet) + static_cast<std::size_t>(task.plan.chunk_columns) * element;
}

LaunchShape shape_of(const RowsTask& task) {
  const auto chunks = static_cast<unsigned>(task.plan.chunks);
  return {.blocks = blocks_for_rows(task.rows, chunks) * chunks,
          .threads = kRowThreads,
          .shared_bytes = shared_bytes(task),
          .cluster = chunks};
}

template <typename Stored, typename CapKind>
const void* address_of_kernel() {
  return reinterpret_cast<const void*>(cluster_kernel<Stored, CapKind>);
}

struct CanCluster {
  template <typename Stored, typename CapKind>
  static bool run(const RowsTask& task) {
    const LaunchShape shape = shape_of(task);
    return shape.cluster <= kPortableCluster || cluster_fits(address_of_kernel<Stored, CapKind>(), shape);
  }
};

struct LaunchClusters {
  template <typename Stored, typename CapKind>
  static void run(const RowsTask& task, cudaStream_t stream) {
    const LaunchShape shape = shape_of(task);
    allow_all(address_of_kernel<Stored, CapKind>());
    launch("cross_entropy_cluster_kernel", shape, stream, cluster_kernel<Stored, CapKind>, task);
  }
};

}  // namespace

bool cluster_can(const RowsTask& task) {
  return attribute(cudaDevAttrComputeCapabilityMajor) >= 9 &&
         shared_bytes(task) <= static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin)) &&
         run_for_type<CanCluster>(task);
}

void launch_cluster_rows(const RowsTask& task, cudaStream_t stream) { run_for_type<LaunchClusters>(task, stream); }

}  // namespace tokavg::cuda
