// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

#include "cuda_emulator/event.hpp"
#include "cuda_emulator/graph.hpp"
#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {

// A graph in the making. Streams join it by waiting for an event that was recorded in it.
class Capture {
 public:
  Capture(std::shared_ptr<Stream> origin, cudaStreamCaptureMode mode, unsigned long long id);

  struct Member {
    std::shared_ptr<Stream> stream;
    std::vector<std::size_t> tail;  // what the next node of this stream comes after
  };

  Member* member(const Stream& stream);
  Member& join(const std::shared_ptr<Stream>& stream);
  void add_node(const Stream& stream, const Work& work, std::shared_ptr<Event> external = nullptr);
  bool joined() const;  // whether all that was captured comes before the end of the first stream

  const cudaStreamCaptureMode mode;
  const unsigned long long id;
  const std::thread::id thread;
  bool invalid = false;
  std::vector<Member> members;  // first the one that the capture began with
  Graph graph;

 private:
  std::size_t lane(const Stream& stream) const;
};

cudaError_t begin_capture(const std::shared_ptr<Stream>& stream, cudaStreamCaptureMode mode);
cudaError_t end_capture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph);

struct CaptureInfo {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  std::size_t dependencies = 0;
};
// Asking invalidates no capture, but has no answer for the default stream while a blocking stream is captured.
cudaError_t capture_info(const Stream& stream, CaptureInfo* info);

// If the stream is being captured, the work becomes a node, and `captured` true.
cudaError_t capture_work(const Stream& stream, const Work& work, bool& captured);
cudaError_t record_event(const std::shared_ptr<Stream>& stream, Event& event);
cudaError_t wait_for_event(const std::shared_ptr<Stream>& stream, Event& event);
// In a capture, for what was recorded outside of it: each replay waits for the latest record before its launch.
cudaError_t wait_for_external_event(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event);

// Before a call that CUDA calls potentially unsafe: an error, and an invalid capture, where one forbids it.
cudaError_t check_unsafe_call();

// Before the host waits for a stream or asks about it.
cudaError_t check_host_wait(const Stream& stream);
cudaError_t check_device_wait(int device);

// The stream is destroyed.
void leave_capture(const Stream& stream);

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode);

}  // namespace cuda_emulator
