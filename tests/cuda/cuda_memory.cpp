// SPDX-License-Identifier: Apache-2.0
#include "cuda/cuda_memory.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace contract {
namespace {

void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(2);
}

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int rank) {
    int devices = 0;
    must(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    device_ = rank % devices;
    must(cudaSetDevice(device_), "cudaSetDevice");
    must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  ~CudaMemory() override {
    clear();
    for (void* block : blocks_) must(cudaFree(block), "cudaFree");
    must(cudaStreamDestroy(stream_), "cudaStreamDestroy");
  }

  void configure(tokavg_config_t& config) override {
    config.device = TOKAVG_DEVICE_CUDA;
    config.device_index = device_;
  }
  [[nodiscard]] std::int32_t kind() const override { return TOKAVG_MEMORY_CUDA; }
  [[nodiscard]] tokavg_stream_t stream() const override { return stream_; }

  void* put(const void* bytes, std::size_t size) override {
    void* block = take(size);
    if (size != 0) must(cudaMemcpyAsync(block, bytes, size, cudaMemcpyHostToDevice, stream_), "cudaMemcpyAsync");
    return block;
  }
  void get(void* bytes, const void* from, std::size_t size) override {
    if (size != 0) must(cudaMemcpyAsync(bytes, from, size, cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }
  void clear() override {
    must(cudaSetDevice(device_), "cudaSetDevice");
    must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
    next_ = 0;
    taken_ = 0;
  }

 private:
  // Blocks that are used again and freed at the end alone: cudaFree waits for the whole GPU, where a kernel of another
  // rank may be waiting for this one's next step.
  static constexpr std::size_t kBlock = std::size_t{1} << 20;
  static constexpr std::size_t kAlignment = 256;

  void* take(std::size_t size) {
    const std::size_t rounded = (size / kAlignment + 1) * kAlignment;
    if (next_ == 0 || taken_ + rounded > kBlock) {
      if (next_ == blocks_.size() || rounded > kBlock) {
        blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(next_), nullptr);
        must(cudaMalloc(&blocks_[next_], std::max(rounded, kBlock)), "cudaMalloc");
      }
      ++next_;
      taken_ = 0;
    }
    void* here = static_cast<char*>(blocks_[next_ - 1]) + taken_;
    taken_ += rounded;
    return here;
  }

  int device_ = 0;
  cudaStream_t stream_ = nullptr;
  std::vector<void*> blocks_;
  std::size_t next_ = 0;   // the block after the one that is being filled
  std::size_t taken_ = 0;  // of that one
};

}  // namespace

std::unique_ptr<Memory> cuda_memory(int rank) { return std::make_unique<CudaMemory>(rank); }

}  // namespace contract
