// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tokavg/tokavg.h"

// Short words for tests that hold data on a GPU.
namespace cuda_test {

inline void must(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
  std::exit(2);
}

class Stream {
 public:
  Stream() { must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags"); }
  ~Stream() { must(cudaStreamDestroy(stream_), "cudaStreamDestroy"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { must(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

// An array in device memory, of the current device.
template <typename Value>
class Array {
 public:
  explicit Array(std::size_t count) : count_(count) {
    must(cudaMalloc(&data_, (count + 1) * sizeof(Value)), "cudaMalloc");
  }
  Array(const std::vector<Value>& values, const Stream& stream) : Array(values.size()) { put(values, stream); }
  ~Array() { must(cudaFree(data_), "cudaFree"); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  // The values are read when the stream gets there: they have to live so long.
  void put(const std::vector<Value>& values, const Stream& stream) {
    must(cudaMemcpyAsync(data_, values.data(), values.size() * sizeof(Value), cudaMemcpyHostToDevice, stream.get()),
         "cudaMemcpyAsync");
  }
  // Waits for the stream.
  [[nodiscard]] std::vector<Value> get(const Stream& stream) const {
    std::vector<Value> values(count_);
    must(cudaMemcpyAsync(values.data(), data_, count_ * sizeof(Value), cudaMemcpyDeviceToHost, stream.get()),
         "cudaMemcpyAsync");
    stream.wait();
    return values;
  }
  [[nodiscard]] Value* data() const { return static_cast<Value*>(data_); }
  [[nodiscard]] tokavg_array_t array(std::int32_t dtype) const { return {data_, dtype, TOKAVG_MEMORY_CUDA, 0, 0}; }

 private:
  std::size_t count_;
  void* data_ = nullptr;
};

inline tokavg_labels_t labels_of(const Array<std::int64_t>& labels, std::int64_t rows, std::int64_t cols) {
  tokavg_labels_t given{};
  given.struct_size = static_cast<std::uint32_t>(sizeof given);
  given.rows = rows;
  given.cols = cols;
  given.labels = labels.array(TOKAVG_DTYPE_I64);
  return given;
}

// The item must live as long as what is made of it.
inline tokavg_scale_t scale_of(const tokavg_scale_item_t& item) {
  tokavg_scale_t scale{};
  scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
  scale.item_size = static_cast<std::uint32_t>(sizeof item);
  scale.items = &item;
  scale.n_items = 1;
  scale.kind = TOKAVG_FACTOR_SCALE;
  return scale;
}

inline tokavg_result_t empty_result() {
  tokavg_result_t result{};
  result.struct_size = static_cast<std::uint32_t>(sizeof result);
  return result;
}

}  // namespace cuda_test
