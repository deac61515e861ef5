// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/capture.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/graph.hpp"

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api("cudaStreamBeginCapture", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
    return begin_capture(stream, mode);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return api("cudaStreamEndCapture", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (graph == nullptr) return cudaErrorInvalidValue;
    *graph = nullptr;
    std::shared_ptr<Graph> captured;
    const cudaError_t result = end_capture(stream, &captured);
    if (result == cudaSuccess) *graph = graphs().add(captured);
    return result;
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return api("cudaStreamIsCapturing", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (status == nullptr) return cudaErrorInvalidValue;
    CaptureInfo info;
    const cudaError_t result = capture_info(*stream, &info);
    if (result == cudaSuccess) *status = info.status;
    return result;
  });
}

// The handle of the graph in the making is not given out, nor its nodes: only how many the next one comes after.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count) {
  return api("cudaStreamGetCaptureInfo", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (status == nullptr) return cudaErrorInvalidValue;
    CaptureInfo info;
    const cudaError_t result = capture_info(*stream, &info);
    if (result != cudaSuccess) return result;
    *status = info.status;
    if (info.status != cudaStreamCaptureStatusActive) return cudaSuccess;
    if (id != nullptr) *id = info.id;
    if (graph != nullptr) *graph = nullptr;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = info.dependencies;
    return cudaSuccess;
  });
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api("cudaThreadExchangeStreamCaptureMode", [&] {
    if (mode == nullptr || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) {
      return cudaErrorInvalidValue;
    }
    *mode = exchange_capture_mode(*mode);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t handle, unsigned long long flags) {
  return api("cudaGraphInstantiate", [&] {
    const std::shared_ptr<Graph> graph = graphs().find(handle);
    if (exec == nullptr || graph == nullptr || flags != 0) return cudaErrorInvalidValue;
    *exec = graph_execs().add(std::make_shared<GraphExec>(*graph));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return api("cudaGraphLaunch", [&] {
    const std::shared_ptr<GraphExec> exec = graph_execs().find(handle);
    const std::shared_ptr<Stream> stream = find_stream(stream_handle);
    if (exec == nullptr || stream == nullptr) return cudaErrorInvalidResourceHandle;
    CaptureInfo info;
    if (capture_info(*stream, &info) != cudaSuccess) return check_host_wait(*stream);
    // A graph inside a graph: CUDA can, this cannot.
    if (info.status != cudaStreamCaptureStatusNone) return cudaErrorNotSupported;
    enqueue(stream, std::function<void()>([&] { exec->launch(stream); }));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api_of_free("cudaGraphDestroy",
                     [&] { return graphs().remove(graph) == nullptr ? cudaErrorInvalidValue : cudaSuccess; });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  return api_of_free("cudaGraphExecDestroy",
                     [&] { return graph_execs().remove(exec) == nullptr ? cudaErrorInvalidValue : cudaSuccess; });
}

}  // extern "C"
