// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "device/cuda/kernels.hpp"
#include "device/device.hpp"

// How rows of logits are cut and handed to kernels.
namespace tokavg::cuda {

inline constexpr unsigned kRowThreads = 256;  // of a block
inline constexpr unsigned kRowWarps = kRowThreads / 32;
inline constexpr int kMostChunks = 16;
inline constexpr std::int64_t kChunkBytes = std::int64_t{1} << 16;

// Depends on the vocabulary and the type alone, for sums are taken chunk by chunk: losses have the same bits on every
// architecture.
struct RowPlan {
  int vocab = 0;
  int chunks = 1;  // a power of two, as clusters are
  int chunk_columns = 0;

  RowPlan(std::int64_t vocab_size, std::int64_t element_size) : vocab(static_cast<int>(vocab_size)) {
    constexpr std::int64_t kGrain = 64;  // chunks of a row that suits packets suit them too
    while (chunks < kMostChunks && vocab_size * element_size > chunks * kChunkBytes) chunks *= 2;
    const std::int64_t even_share = (vocab_size + chunks - 1) / chunks;
    chunk_columns = static_cast<int>(chunks == 1 ? vocab_size : (even_share + kGrain - 1) / kGrain * kGrain);
  }
};

struct RowsTask {
  CrossEntropy ce;
  Multiplier gradient_scale;
  TermCell* cell = nullptr;
  std::int64_t rows = 0;  // of logits
  RowPlan plan;
  double share_of_smoothing = 0;  // label_smoothing / vocab
};
RowsTask rows_task(const CrossEntropy& ce, const Multiplier& gradient_scale, TermCell* cell);

// A row in the shared memory of a cluster of blocks, one chunk a block: logits are read once. From compute capability
// 9.0 on.
bool cluster_can(const RowsTask& task);
void launch_cluster_rows(const RowsTask& task, cudaStream_t stream);

// A row a block; its logits are read twice, the second time from the cache. On every GPU, with the same bits.
void launch_block_rows(const RowsTask& task, cudaStream_t stream);

}  // namespace tokavg::cuda
