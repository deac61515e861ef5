// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "device/device.hpp"

// Arrays of the host, copied to the device and back.
namespace cuda_kernels {

void must(cudaError_t error, const char* call);

// Device memory.
class Buffer {
 public:
  explicit Buffer(std::size_t size);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  [[nodiscard]] unsigned char* get() const { return static_cast<unsigned char*>(data_); }
  void write(std::size_t at, const void* from, std::size_t size) const;
  void read(std::size_t at, void* to, std::size_t size) const;

 private:
  void* data_ = nullptr;
};

// The stretches of host memory that a call may touch, on the device: what overlaps or is one array is one stretch there
// too, as far from a multiple of 256 as on the host, and in between bytes that are a NaN of every type and no label.
class Mirror {
 public:
  // Of shape rows x cols, `width` elements of `element_size` at each place.
  void add(const tokavg::ArrayView& array, std::int64_t rows, std::int64_t cols, std::int64_t width,
           std::size_t element_size);
  void upload();
  [[nodiscard]] void* on_device(void* host) const;
  void map(tokavg::ArrayView& array) const {
    if (array.data != nullptr) array.data = on_device(array.data);
  }
  // Back to the host. False: something around the stretches was written.
  [[nodiscard]] bool download();

 private:
  struct Stretch {
    unsigned char* end = nullptr;
    std::unique_ptr<Buffer> buffer;
    std::size_t first = 0;  // of the buffer
  };
  std::map<unsigned char*, Stretch> stretches_;  // by where they begin
};

}  // namespace cuda_kernels
