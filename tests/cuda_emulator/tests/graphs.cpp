// SPDX-License-Identifier: Apache-2.0
#include <thread>

#include "cuda_emulator/tests/check.hpp"

// Capture of streams into graphs, and what is forbidden meanwhile.
using namespace emulator_test;

namespace {

__global__ void add_kernel(int* values, int what) {
  if (what > 10) cuda_emulator::nap(50000);
  values[threadIdx.x] += what;
}
__global__ void sum_kernel(const int* a, const int* b, int* sum) {
  sum[threadIdx.x] += a[threadIdx.x] * b[threadIdx.x];
}

struct Stand {
  Stand() {
    for (cudaStream_t& stream : streams) CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (cudaEvent_t& event : events) CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (int*& one : arrays) {
      one = device_array<int>(32);
      CUDA(cudaMemset(one, 0, 128));
    }
    CUDA(cudaDeviceSynchronize());
  }
  ~Stand() {
    CUDA(cudaDeviceSynchronize());
    for (const cudaStream_t stream : streams) CUDA(cudaStreamDestroy(stream));
    for (const cudaEvent_t event : events) CUDA(cudaEventDestroy(event));
    for (int* one : arrays) CUDA(cudaFree(one));
    static_cast<void>(cudaGetLastError());
  }
  Stand(const Stand&) = delete;
  Stand& operator=(const Stand&) = delete;

  void begin(cudaStreamCaptureMode mode) { CUDA(cudaStreamBeginCapture(streams[0], mode)); }
  void add(int stream, int array, int what) {
    CUDA(start("add", 1, 32, streams[stream], add_kernel, arrays[array], what));
  }
  void fork() {
    CUDA(cudaEventRecord(events[0], streams[0]));
    CUDA(cudaStreamWaitEvent(streams[1], events[0], 0));
  }
  void join() {
    CUDA(cudaEventRecord(events[1], streams[1]));
    CUDA(cudaStreamWaitEvent(streams[0], events[1], 0));
  }

  // The capture was made useless by what it had to forbid.
  void expect_invalid() {
    cudaGraph_t graph = nullptr;
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(streams[0], &graph));
    CHECK(graph == nullptr);
  }

  cudaStream_t streams[2];
  cudaEvent_t events[2];
  int* arrays[3];
};

cudaGraphExec_t instantiate(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return exec;
}

// a += 1; then b += a' beside c...; joined: sum += a * b.
cudaGraphExec_t capture_fork(Stand& stand, bool joined_by_event) {
  stand.begin(cudaStreamCaptureModeThreadLocal);
  stand.fork();
  stand.add(1, 1, 11);
  stand.add(0, 0, 1);
  if (joined_by_event) stand.join();
  CUDA(start("sum", 1, 32, stand.streams[0], sum_kernel, stand.arrays[0], stand.arrays[1], stand.arrays[2]));
  if (!joined_by_event) stand.join();
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  return instantiate(graph);
}

int replay(Stand& stand, cudaGraphExec_t exec, int times) {
  for (int i = 0; i < times; ++i) CUDA(cudaGraphLaunch(exec, stand.streams[0]));
  CHECK(cuda_emulator_synchronizations() == 0);
  CUDA(cudaStreamSynchronize(stand.streams[0]));
  CUDA(cudaGraphExecDestroy(exec));
  return copy_back(stand.arrays[2], 32)[31];
}

int expected_sum(int times) {
  int sum = 0;
  for (int i = 1; i <= times; ++i) sum += i * 11 * i;
  return sum;
}

void fork_and_join() {
  Stand stand;
  cuda_emulator_reset();
  const cudaGraphExec_t exec = capture_fork(stand, true);
  CHECK(cuda_emulator_launches() == 3);
  CHECK(replay(stand, exec, 100) == expected_sum(100));
  CHECK(cuda_emulator_launches() == 3 && cuda_emulator_calls("cudaGraphLaunch") == 100);
}

__global__ void slow_add_kernel(int* values) {
  const int before = values[threadIdx.x];
  cuda_emulator::nap(100000);
  values[threadIdx.x] = before + 1;
}

// Nothing comes after the join, and still the graph is done only with all of it.
void join_at_the_end() {
  Stand stand;
  stand.begin(cudaStreamCaptureModeRelaxed);
  stand.fork();
  CUDA(start("slow add", 1, 32, stand.streams[1], slow_add_kernel, stand.arrays[0]));
  stand.join();
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  const cudaGraphExec_t exec = instantiate(graph);
  CUDA(cudaGraphLaunch(exec, stand.streams[0]));
  stand.add(0, 0, 1);
  CUDA(cudaStreamSynchronize(stand.streams[0]));
  CHECK(copy_back(stand.arrays[0], 32)[5] == 2);
  CUDA(cudaGraphExecDestroy(exec));
}

// A graph does not overlap with itself, whatever it is launched on.
void two_launches() {
  Stand stand;
  stand.begin(cudaStreamCaptureModeRelaxed);
  CUDA(start("slow add", 1, 32, stand.streams[0], slow_add_kernel, stand.arrays[0]));
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  const cudaGraphExec_t exec = instantiate(graph);
  for (int i = 0; i < 20; ++i) CUDA(cudaGraphLaunch(exec, stand.streams[i % 2]));
  CUDA(cudaDeviceSynchronize());
  CHECK(copy_back(stand.arrays[0], 32)[5] == 20);
  CUDA(cudaGraphExecDestroy(exec));
}

void missing_join() {
  Stand stand;
  cuda_emulator_reset();
  const cudaGraphExec_t exec = capture_fork(stand, false);
  CHECK(replay(stand, exec, 20) == expected_sum(20));
}

void copies_and_values() {
  Stand stand;
  auto* pinned = pinned_array<int>(32);
  for (int i = 0; i < 32; ++i) pinned[i] = i;
  stand.begin(cudaStreamCaptureModeRelaxed);
  CUDA(cudaMemcpyAsync(stand.arrays[0], pinned, 128, cudaMemcpyHostToDevice, stand.streams[0]));
  int what = 5;
  stand.add(0, 0, what);
  what = 6;
  CUDA(cudaMemsetAsync(stand.arrays[1], 0, 128, stand.streams[0]));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  CUDA(cudaStreamGetCaptureInfo(stand.streams[0], &status, &id, nullptr, nullptr, nullptr, nullptr));
  CHECK(status == cudaStreamCaptureStatusActive && id > 0);
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  CUDA(cudaStreamIsCapturing(stand.streams[0], &status));
  CHECK(status == cudaStreamCaptureStatusNone);
  CHECK(copy_back(stand.arrays[0], 32)[3] == 0);  // nothing has run yet
  const cudaGraphExec_t exec = instantiate(graph);
  pinned[3] = 100;
  CUDA(cudaGraphLaunch(exec, stand.streams[1]));
  CUDA(cudaStreamSynchronize(stand.streams[1]));
  CHECK(copy_back(stand.arrays[0], 32)[3] == 105);
  CUDA(cudaGraphExecDestroy(exec));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaGraphLaunch(exec, stand.streams[1]));
  CUDA(cudaFreeHost(pinned));
}

// Calls that a capture of this mode does not allow to the thread that captures.
void forbidden(cudaStreamCaptureMode mode, bool allowed) {
  Stand stand;
  int* memory = nullptr;
  const cudaError_t expected = allowed ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
  const std::vector<std::function<cudaError_t()>> calls = {
      [&] { return cudaMalloc(reinterpret_cast<void**>(&memory), 16); },
      [&] { return cudaFree(memory); },
      [&] { return cudaEventQuery(stand.events[1]); },
      [&] { return cudaEventSynchronize(stand.events[1]); },
      [&] { return cudaStreamSynchronize(stand.streams[1]); },
      [&] { return cudaStreamQuery(stand.streams[1]); }};
  for (const std::function<cudaError_t()>& call : calls) {
    if (!allowed && memory == nullptr) memory = device_array<int>(4);
    stand.begin(mode);
    EXPECT_CUDA(expected, call());
    if (!allowed) {
      stand.expect_invalid();
      continue;
    }
    cudaGraph_t graph = nullptr;
    CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
    CUDA(cudaGraphDestroy(graph));
  }
  if (!allowed) CUDA(cudaFree(memory));
}

void forbidden_calls() {
  forbidden(cudaStreamCaptureModeGlobal, false);
  forbidden(cudaStreamCaptureModeThreadLocal, false);
  forbidden(cudaStreamCaptureModeRelaxed, true);
}

// What conflicts with any capture, relaxed or not.
void conflicts() {
  Stand stand;
  int host = 0;
  const std::vector<std::pair<cudaError_t, std::function<cudaError_t()>>> calls = {
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamSynchronize(stand.streams[0]); }},
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaStreamQuery(stand.streams[0]); }},
      {cudaErrorStreamCaptureUnsupported, [&] { return cudaDeviceSynchronize(); }},
      {cudaErrorStreamCaptureUnsupported,
       [&] { return cudaMemcpyAsync(stand.arrays[0], &host, 4, cudaMemcpyHostToDevice, stand.streams[0]); }},
      {cudaErrorCapturedEvent, [&] { return cudaEventQuery(stand.events[0]); }},
      {cudaErrorCapturedEvent, [&] { return cudaEventSynchronize(stand.events[0]); }},
      {cudaErrorStreamCaptureIsolation, [&] { return cudaStreamWaitEvent(stand.streams[0], stand.events[1], 0); }},
      {cudaErrorStreamCaptureImplicit, [&] { return cudaStreamWaitEvent(nullptr, stand.events[0], 0); }}};
  for (const auto& [error, call] : calls) {
    CUDA(cudaEventRecord(stand.events[1], stand.streams[1]));
    stand.begin(cudaStreamCaptureModeRelaxed);
    CUDA(cudaEventRecord(stand.events[0], stand.streams[0]));
    EXPECT_CUDA(error, call());
    EXPECT_CUDA(cudaErrorStreamCaptureInvalidated,
                start("add", 1, 32, stand.streams[0], add_kernel, stand.arrays[0], 1));
    stand.expect_invalid();
  }
}

// The legacy default stream would be ordered with a blocking stream that is captured.
void default_stream() {
  Stand stand;
  cudaStream_t blocking = nullptr;
  CUDA(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault));
  cudaGraph_t graph = nullptr;
  CUDA(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(nullptr, &status));
  CUDA(cudaStreamIsCapturing(blocking, &status));
  CHECK(status == cudaStreamCaptureStatusActive);
  EXPECT_CUDA(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(stand.arrays[0], 0, 4, nullptr));
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
  CUDA(cudaStreamDestroy(blocking));
  stand.begin(cudaStreamCaptureModeRelaxed);
  CUDA(cudaMemsetAsync(stand.arrays[0], 0, 4, nullptr));  // this one is not ordered with it
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  CUDA(cudaGraphDestroy(graph));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed));
}

void ends_of_captures() {
  Stand stand;
  cudaGraph_t graph = nullptr;
  EXPECT_CUDA(cudaErrorIllegalState, cudaStreamEndCapture(stand.streams[0], &graph));

  stand.begin(cudaStreamCaptureModeRelaxed);
  EXPECT_CUDA(cudaErrorIllegalState, cudaStreamBeginCapture(stand.streams[0], cudaStreamCaptureModeRelaxed));
  stand.fork();
  stand.add(1, 1, 1);
  EXPECT_CUDA(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(stand.streams[1], &graph));
  EXPECT_CUDA(cudaErrorStreamCaptureUnjoined, cudaStreamEndCapture(stand.streams[0], &graph));
  EXPECT_CUDA(cudaErrorCapturedEvent, cudaStreamWaitEvent(stand.streams[1], stand.events[0], 0));

  stand.begin(cudaStreamCaptureModeThreadLocal);
  std::thread([&] {
    EXPECT_CUDA(cudaErrorStreamCaptureWrongThread, cudaStreamEndCapture(stand.streams[0], &graph));
  }).join();
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  CUDA(cudaGraphDestroy(graph));

  CUDA(cudaStreamBeginCapture(stand.streams[1], cudaStreamCaptureModeRelaxed));
  stand.begin(cudaStreamCaptureModeRelaxed);
  CUDA(cudaEventRecord(stand.events[0], stand.streams[0]));
  EXPECT_CUDA(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(stand.streams[1], stand.events[0], 0));
  stand.expect_invalid();
  EXPECT_CUDA(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stand.streams[1], &graph));
}

cudaError_t malloc_in_thread(cudaStreamCaptureMode mode) {
  cudaError_t result = cudaSuccess;
  std::thread([&] {
    CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(mode == cudaStreamCaptureModeGlobal);
    void* memory = nullptr;
    result = cudaMalloc(&memory, 16);
    if (result == cudaSuccess) result = cudaFree(memory);
  }).join();
  return result;
}

// A capture of another thread forbids something only if both sides say global.
void other_threads() {
  Stand stand;
  cudaGraph_t graph = nullptr;
  stand.begin(cudaStreamCaptureModeGlobal);
  CUDA(malloc_in_thread(cudaStreamCaptureModeThreadLocal));
  CUDA(malloc_in_thread(cudaStreamCaptureModeRelaxed));
  EXPECT_CUDA(cudaErrorStreamCaptureUnsupported, malloc_in_thread(cudaStreamCaptureModeGlobal));
  stand.expect_invalid();
  stand.begin(cudaStreamCaptureModeThreadLocal);
  CUDA(malloc_in_thread(cudaStreamCaptureModeGlobal));
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  CUDA(cudaGraphDestroy(graph));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
  stand.begin(cudaStreamCaptureModeGlobal);
  CUDA(cudaEventQuery(stand.events[1]));  // this thread said that it knows what it does
  CUDA(cudaStreamEndCapture(stand.streams[0], &graph));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaThreadExchangeStreamCaptureMode(&mode));
}

void faults_are_caught() {
  CHECK(shows_over_seeds("missing join", 10));
  if (cuda_emulator::kThreadSanitizer) CHECK(run_fault("missing join").raced());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {{"fork and join", fork_and_join},
                      {"join at the end", join_at_the_end},
                      {"two launches", two_launches},
                      {"copies and values", copies_and_values},
                      {"forbidden calls", forbidden_calls},
                      {"conflicts", conflicts},
                      {"default stream", default_stream},
                      {"ends of captures", ends_of_captures},
                      {"other threads", other_threads},
                      {"faults are caught", faults_are_caught}},
                     {{"missing join", missing_join}});
}
