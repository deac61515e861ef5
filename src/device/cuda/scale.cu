// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "device/cuda/elements.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/multiplier.hpp"
#include "device/cuda/processor.hpp"
#include "tokavg/types.h"

namespace tokavg::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int kBlocksAtOnce = 8;                              // of a processor
constexpr int kInFlight = 4;                                  // loads of 16 bytes
constexpr std::int64_t kBytesAtOnce = std::int64_t{1} << 16;  // of a block
constexpr int kMostArrays = 160;                              // of a launch

// Arrays in chunks of equal size, so that each block has as much to do as the next, whatever the arrays' sizes.
struct ChunkTable {
  Multiplier multiplier;
  std::int64_t chunks;
  std::int64_t first_chunk[kMostArrays];  // of each array
  std::int64_t count[kMostArrays];
  void* data[kMostArrays];
  std::int8_t dtype[kMostArrays];
  std::int32_t arrays;
};
static_assert(sizeof(ChunkTable) <= 4096, "more than a kernel's parameters hold on every architecture");

__device__ double to_double(double value) { return value; }
template <typename Stored>
__device__ double to_double(Stored value) {
  return static_cast<double>(to_float(value));
}

template <typename Stored>
__device__ void scale_one(Stored* at, double factor) {
  *at = from_double<Stored>(factor == 0 ? 0.0 : to_double(*at) * factor);
}

template <typename Stored>
__device__ Packet scaled(const Packet& packet, double factor) {
  auto elements = same_bits<Elements<Stored>>(packet);
#pragma unroll
  for (Stored& value : elements.value) value = from_double<Stored>(to_double(value) * factor);
  return same_bits<Packet>(elements);
}

template <typename Stored>
__device__ void scale_packets(Stored* body, std::int64_t packets, double factor) {
  constexpr int kElements = kPerPacket<Stored>;
  for (std::int64_t first = threadIdx.x; first < packets; first += kInFlight * kThreads) {
    Packet packet[kInFlight] = {};
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t i = first + k * kThreads;
      if (factor != 0 && i < packets) packet[k] = load_streaming(body + i * kElements);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const std::int64_t i = first + k * kThreads;
      if (i >= packets) continue;
      store_streaming(factor == 0 ? Packet{} : scaled<Stored>(packet[k], factor), body + i * kElements);
    }
  }
}

// Zeros where the factor is 0, whatever was there.
template <typename Stored>
__device__ void scale_run(Stored* data, std::int64_t count, double factor) {
  const Stretch<Stored> stretch(data, count);
  scale_packets(data + stretch.head, stretch.packets, factor);
  const std::int64_t thread = threadIdx.x;
  if (thread < stretch.head) scale_one(data + thread, factor);
  if (thread < stretch.tail) scale_one(data + stretch.tail_begin() + thread, factor);
}

template <typename Stored>
__device__ void scale_chunk(const ChunkTable& table, int array, std::int64_t chunk, double factor) {
  constexpr std::int64_t kElements = kBytesAtOnce / static_cast<std::int64_t>(sizeof(Stored));
  const std::int64_t begin = (chunk - table.first_chunk[array]) * kElements;
  scale_run(static_cast<Stored*>(table.data[array]) + begin, std::min(kElements, table.count[array] - begin), factor);
}

// The last array that begins at or before a chunk.
__device__ int array_of(const ChunkTable& table, std::int64_t chunk) {
  int begin = 0;
  int end = table.arrays;
  while (end - begin > 1) {
    const int middle = (begin + end) / 2;
    (table.first_chunk[middle] <= chunk ? begin : end) = middle;
  }
  return begin;
}

__global__ void __launch_bounds__(kThreads) scale_kernel(const __grid_constant__ ChunkTable table) {
  const double factor = value_of(table.multiplier);
  for (std::int64_t chunk = blockIdx.x; chunk < table.chunks; chunk += gridDim.x) {
    const int array = array_of(table, chunk);
    switch (table.dtype[array]) {
      case TOKAVG_DTYPE_F32: scale_chunk<float>(table, array, chunk, factor); break;
      case TOKAVG_DTYPE_F64: scale_chunk<double>(table, array, chunk, factor); break;
      case TOKAVG_DTYPE_BF16: scale_chunk<Bf16>(table, array, chunk, factor); break;
      default: scale_chunk<F16>(table, array, chunk, factor); break;
    }
  }
}

std::int64_t size_of(std::int32_t dtype) {
  switch (dtype) {
    case TOKAVG_DTYPE_F32: return sizeof(float);
    case TOKAVG_DTYPE_F64: return sizeof(double);
    case TOKAVG_DTYPE_BF16: return sizeof(Bf16);
    case TOKAVG_DTYPE_F16: return sizeof(F16);
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is not a floating-point type", dtype);
  }
}

void add(const ScaleArray& array, ChunkTable& table) {
  const std::int64_t elements = kBytesAtOnce / size_of(array.dtype);
  const int i = table.arrays++;
  table.first_chunk[i] = table.chunks;
  table.count[i] = array.count;
  table.data[i] = array.data;
  table.dtype[i] = static_cast<std::int8_t>(array.dtype);
  table.chunks += array.count / elements + (array.count % elements != 0 ? 1 : 0);
}

void launch_table(const ChunkTable& table, cudaStream_t stream) {
  if (table.arrays == 0) return;
  const LaunchShape shape{.blocks = blocks_for(table.chunks, 1, kBlocksAtOnce), .threads = kThreads};
  launch("scale_kernel", shape, stream, scale_kernel, table);
}

}  // namespace

void launch_scale(std::span<const ScaleArray> arrays, const Multiplier& multiplier, cudaStream_t stream) {
  ChunkTable table{};
  table.multiplier = multiplier;
  for (const ScaleArray& array : arrays) {
    if (array.count == 0) continue;
    add(array, table);
    if (table.arrays < kMostArrays) continue;
    launch_table(table, stream);
    table.arrays = 0;
    table.chunks = 0;
  }
  launch_table(table, stream);
}

}  // namespace tokavg::cuda
