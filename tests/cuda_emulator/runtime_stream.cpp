// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/capture.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/event.hpp"

using namespace cuda_emulator;

namespace {

cudaError_t create_stream(cudaStream_t* stream, unsigned flags) {
  if (stream == nullptr || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  *stream = streams().add(make_stream(current_device(), flags == cudaStreamDefault));
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t* event, unsigned flags) {
  const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming;
  if (event == nullptr || (flags & ~known) != 0) return cudaErrorInvalidValue;
  *event = events().add(std::make_shared<Event>(current_device()));
  return cudaSuccess;
}

// With what a broken device answers to whoever waited for it.
cudaError_t after_waiting() { return device_error(current_device()); }

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return api("cudaStreamCreateWithFlags", [&] { return create_stream(stream, flags); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return api("cudaStreamCreateWithPriority", [&] { return create_stream(stream, flags); });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api("cudaDeviceGetStreamPriorityRange", [&] {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = -5;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api_of_free("cudaStreamDestroy", [&] {
    const std::shared_ptr<Stream> stream = streams().remove(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    leave_capture(*stream);
    stream->close();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api("cudaStreamSynchronize", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const cudaError_t refused = check_host_wait(*stream);
    if (refused != cudaSuccess) return refused;
    if (stream->legacy()) enqueue(stream, {[] {}, true});  // comes after all blocking streams
    stream->synchronize();
    return after_waiting();
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return api("cudaStreamQuery", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const cudaError_t refused = check_host_wait(*stream);
    if (refused != cudaSuccess) return refused;
    return stream->idle() ? after_waiting() : cudaErrorNotReady;
  });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return api("cudaStreamGetDevice", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = stream->device();
    return cudaSuccess;
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return api("cudaStreamWaitEvent", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    const std::shared_ptr<Event> event = events().find(event_handle);
    if (stream == nullptr || event == nullptr) return cudaErrorInvalidResourceHandle;
    if (flags == cudaEventWaitExternal) return wait_for_external_event(stream, event);
    return flags == 0 ? wait_for_event(stream, *event) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return api("cudaEventCreateWithFlags", [&] { return create_event(event, flags); });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api_of_free("cudaEventDestroy",
                     [&] { return events().remove(event) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess; });
}

cudaError_t cudaEventRecord(cudaEvent_t event_handle, cudaStream_t handle) {
  return api("cudaEventRecord", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    const std::shared_ptr<Event> event = events().find(event_handle);
    if (stream == nullptr || event == nullptr || stream->device() != event->device) {
      return cudaErrorInvalidResourceHandle;
    }
    return record_event(stream, *event);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event_handle) {
  return api("cudaEventQuery", [&] {
    const std::shared_ptr<Event> event = events().find(event_handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    std::shared_ptr<Marker> marker;
    cudaError_t refused = host_marker(*event, &marker);
    if (refused == cudaSuccess) refused = check_unsafe_call();
    if (refused != cudaSuccess) return refused;
    return marker == nullptr || marker->reached() ? after_waiting() : cudaErrorNotReady;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event_handle) {
  return api("cudaEventSynchronize", [&] {
    const std::shared_ptr<Event> event = events().find(event_handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    std::shared_ptr<Marker> marker;
    cudaError_t refused = host_marker(*event, &marker);
    if (refused == cudaSuccess) refused = check_unsafe_call();
    if (refused != cudaSuccess) return refused;
    if (marker != nullptr) marker->wait();
    return after_waiting();
  });
}

cudaError_t cudaDeviceSynchronize() {
  return api("cudaDeviceSynchronize", [&] {
    const cudaError_t refused = check_device_wait(current_device());
    if (refused != cudaSuccess) return refused;
    synchronize_device(current_device());
    return after_waiting();
  });
}

}  // extern "C"
