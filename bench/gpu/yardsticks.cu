// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/elements.hpp"
#include "device/cuda/fixed_tally.hpp"
#include "device/cuda/gpu.hpp"
#include "device/cuda/processor.hpp"
#include "gpu/yardsticks.hpp"

namespace tokavg_bench {
namespace {

using tokavg::cuda::load_streaming;
using tokavg::cuda::Packet;

constexpr unsigned kThreads = 512;
constexpr int kBlocksAtOnce = 4;  // of a processor
constexpr int kInFlight = 4;

__device__ std::uint32_t words_of(const Packet& packet) {
  return packet.word[0] + packet.word[1] + packet.word[2] + packet.word[3];
}

__global__ void __launch_bounds__(kThreads) read_kernel(const Packet* data, std::int64_t packets, std::uint32_t* sum) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  std::uint32_t words = 0;
  for (; i + (kInFlight - 1) * step < packets; i += kInFlight * step) {
    Packet packet[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) packet[k] = load_streaming(data + i + k * step);
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) words += words_of(packet[k]);
  }
  for (; i < packets; i += step) words += words_of(load_streaming(data + i));
  std::int64_t of_block[1] = {words};
  tokavg::cuda::sum_over_block(of_block);
  if (threadIdx.x == 0) atomicAdd(sum, static_cast<std::uint32_t>(of_block[0]));
}

__global__ void delay_kernel(std::uint64_t ns) {
  const std::uint64_t begin = tokavg::cuda::nanoseconds();
  while (tokavg::cuda::nanoseconds() - begin < ns) tokavg::cuda::nap(100);
}

}  // namespace

void launch_read(const void* data, std::size_t bytes, std::uint32_t* sum, cudaStream_t stream) {
  const auto packets = static_cast<std::int64_t>(bytes / sizeof(Packet));
  const unsigned blocks = tokavg::cuda::blocks_for(packets, kThreads, kBlocksAtOnce);
  tokavg::cuda::launch("read_kernel", {blocks, kThreads}, stream, read_kernel, static_cast<const Packet*>(data),
                       packets, sum);
}

void launch_delay(std::uint64_t ns, cudaStream_t stream) {
  tokavg::cuda::launch("delay_kernel", {}, stream, delay_kernel, ns);
}

}  // namespace tokavg_bench
