// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/data.hpp"

// What the benchmarks own on a GPU. A call that fails ends the program.
namespace tokavg_bench {

void must(cudaError_t error, const char* call);

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

// An event that knows its time.
class Event {
 public:
  Event() { must(cudaEventCreateWithFlags(&event_, cudaEventDefault), "cudaEventCreateWithFlags"); }
  ~Event() { must(cudaEventDestroy(event_), "cudaEventDestroy"); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(const Stream& stream) const { must(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
  [[nodiscard]] double microseconds_since(const Event& begin) const;

 private:
  cudaEvent_t event_ = nullptr;
};

class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes);
  // The bytes of a buffer on the host, again and again until `bytes` are full.
  DeviceBuffer(const Buffer& pattern, std::size_t bytes, const Stream& stream);
  ~DeviceBuffer() { must(cudaFree(data_), "cudaFree"); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] void* data() const { return data_; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(data_);
  }
  void copy_from(const DeviceBuffer& other, std::size_t bytes, const Stream& stream) const;
  void read(void* to, std::size_t bytes, const Stream& stream) const;

 private:
  std::size_t bytes_;
  void* data_ = nullptr;
};

[[nodiscard]] std::size_t free_memory();

}  // namespace tokavg_bench
