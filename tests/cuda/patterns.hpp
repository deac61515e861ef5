// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "cuda/gpu.hpp"

// Arrays too large to be made, or kept, on the host: a pattern that is repeated.
namespace cuda_test {

using Bytes = std::vector<unsigned char>;

template <typename Value>
Bytes bytes_of(const std::vector<Value>& values) {
  Bytes bytes(values.size() * sizeof(Value));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class Large {
 public:
  explicit Large(std::size_t bytes) { must(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc"); }
  ~Large() { must(cudaFree(data_), "cudaFree"); }
  Large(Large&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Large(const Large&) = delete;
  Large& operator=(const Large&) = delete;
  Large& operator=(Large&&) = delete;
  [[nodiscard]] unsigned char* data() const { return static_cast<unsigned char*>(data_); }

  // Bytes [begin, end) become the pattern, again and again.
  void fill(std::size_t begin, std::size_t end, const Bytes& pattern, const Stream& stream) const {
    std::size_t full = std::min(pattern.size(), end - begin);
    must(cudaMemcpyAsync(data() + begin, pattern.data(), full, cudaMemcpyHostToDevice, stream.get()),
         "cudaMemcpyAsync");
    while (begin + full < end) {
      const std::size_t more = std::min(full, end - begin - full);
      must(cudaMemcpyAsync(data() + begin + full, data() + begin, more, cudaMemcpyDeviceToDevice, stream.get()),
           "cudaMemcpyAsync");
      full += more;
    }
    stream.wait();
  }

  // Where the first byte of [begin, end) that is not the pattern's lies; `end` when there is none.
  [[nodiscard]] std::size_t find_other(std::size_t begin, std::size_t end, const Bytes& pattern,
                                       const Stream& stream) const {
    const std::size_t window = std::max<std::size_t>(1, (std::size_t{32} << 20) / pattern.size()) * pattern.size();
    Bytes expected(window);
    for (std::size_t at = 0; at < window; at += pattern.size())
      std::copy(pattern.begin(), pattern.end(), &expected[at]);
    void* got = nullptr;
    must(cudaHostAlloc(&got, window, cudaHostAllocDefault), "cudaHostAlloc");
    const auto* bytes = static_cast<const unsigned char*>(got);
    for (; begin < end; begin += window) {
      const std::size_t n = std::min(window, end - begin);
      must(cudaMemcpyAsync(got, data() + begin, n, cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
      stream.wait();
      if (std::memcmp(bytes, expected.data(), n) == 0) continue;
      end = begin + static_cast<std::size_t>(std::mismatch(bytes, bytes + n, expected.begin()).first - bytes);
    }
    must(cudaFreeHost(got), "cudaFreeHost");
    return end;
  }

 private:
  void* data_ = nullptr;
};

}  // namespace cuda_test
