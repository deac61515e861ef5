// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda.hpp"

#include <algorithm>
#include <string>

#include "kernels/calls.hpp"

namespace tokavg_bench {

void must(cudaError_t error, const char* call) {
  if (error != cudaSuccess) {
    fail(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

double Event::microseconds_since(const Event& begin) const {
  float milliseconds = 0;
  must(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "cudaEventElapsedTime");
  return 1e3 * static_cast<double>(milliseconds);
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  must(cudaMalloc(&data_, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
}

DeviceBuffer::DeviceBuffer(const Buffer& pattern, std::size_t bytes, const Stream& stream) : DeviceBuffer(bytes) {
  std::size_t full = std::min(pattern.bytes(), bytes);
  must(cudaMemcpyAsync(data_, pattern.data(), full, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  while (full < bytes) {
    const std::size_t more = std::min(full, bytes - full);
    must(cudaMemcpyAsync(as<std::byte>() + full, data_, more, cudaMemcpyDeviceToDevice, stream.get()),
         "cudaMemcpyAsync");
    full += more;
  }
  stream.wait();
}

void DeviceBuffer::copy_from(const DeviceBuffer& other, std::size_t bytes, const Stream& stream) const {
  must(cudaMemcpyAsync(data_, other.data_, bytes, cudaMemcpyDeviceToDevice, stream.get()), "cudaMemcpyAsync");
}

void DeviceBuffer::read(void* to, std::size_t bytes, const Stream& stream) const {
  must(cudaMemcpyAsync(to, data_, bytes, cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
  stream.wait();
}

std::size_t free_memory() {
  std::size_t free = 0;
  std::size_t all = 0;
  must(cudaMemGetInfo(&free, &all), "cudaMemGetInfo");
  return free;
}

}  // namespace tokavg_bench
