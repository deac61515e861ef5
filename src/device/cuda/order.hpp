// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include "base/cuda/check.hpp"

namespace tokavg::cuda {

// The calls of a context run in the order in which they are made, whatever their streams: each waits for the one
// before. Inside a capture only what belongs to the same capture can be waited for; what came before it was complete
// when it began (core sees to that).
class Order {
 public:
  // Events of the context's own, at rest.
  Order(cudaEvent_t eager, cudaEvent_t captured) : eager_(eager), captured_(captured) {}

  struct Capture {
    bool active = false;
    unsigned long long id = 0;
    bool operator==(const Capture&) const = default;
  };
  static Capture capture_of(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    Capture capture;
    const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &capture.id);
    if (error == cudaErrorStreamCaptureImplicit) {
      static_cast<void>(cudaGetLastError());
      fail(TOKAVG_ERR_STATE,
           "the stream of this call is NULL, the legacy default stream, and a stream that waits for it is being "
           "captured; pass the captured stream, or capture one that was made with cudaStreamNonBlocking");
    }
    if (error == cudaErrorInvalidResourceHandle) {
      static_cast<void>(cudaGetLastError());
      fail(TOKAVG_ERR_ARGUMENT,
           "stream is no stream of this process: it was destroyed, or never made; pass one that lives, or NULL for the "
           "default stream");
    }
    check(error, "cudaStreamGetCaptureInfo");
    if (status == cudaStreamCaptureStatusInvalidated) {
      fail(TOKAVG_ERR_STATE, "the capture of this stream was invalidated by an earlier call; end it and begin anew");
    }
    capture.active = status == cudaStreamCaptureStatusActive;
    if (!capture.active) capture.id = 0;
    return capture;
  }

  // `otherwise` where the toolkit or the driver is too old to be asked: then what is enqueued fails.
  static int device_of(cudaStream_t stream, int otherwise) {
    int device = otherwise;
#if CUDART_VERSION >= 12080
    const cudaError_t error = cudaStreamGetDevice(stream, &device);
    if (error == cudaErrorCallRequiresNewerDriver) {
      static_cast<void>(cudaGetLastError());
      return otherwise;
    }
    check(error, "cudaStreamGetDevice");
#else
    static_cast<void>(stream);
#endif
    return device;
  }

  void enter(cudaStream_t stream, const Capture& capture) {
    if (!capture.active) {
      if (recorded_) check(cudaStreamWaitEvent(stream, eager_, 0), "cudaStreamWaitEvent");
    } else if (capture.id == captured_in_) {
      check(cudaStreamWaitEvent(stream, captured_, 0), "cudaStreamWaitEvent");
    }
    capture_ = capture;
  }

  void leave(cudaStream_t stream) {
    if (capture_.active) {
      check(cudaEventRecord(captured_, stream), "cudaEventRecord");
      captured_in_ = capture_.id;
    } else {
      check(cudaEventRecord(eager_, stream), "cudaEventRecord");
      recorded_ = true;
    }
  }

  [[nodiscard]] const Capture& capture() const noexcept { return capture_; }  // of the call that is running
  [[nodiscard]] bool used() const noexcept { return recorded_; }

 private:
  cudaEvent_t eager_;
  cudaEvent_t captured_;
  bool recorded_ = false;
  unsigned long long captured_in_ = 0;
  Capture capture_;
};

}  // namespace tokavg::cuda
