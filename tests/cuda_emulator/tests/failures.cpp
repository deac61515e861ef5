// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda_emulator/tests/check.hpp"

// Failures that a test plans, counts of calls, and leaks.
using namespace emulator_test;

namespace {

__global__ void set_kernel(int* value) { *value = 1; }

void by_name() {
  void* memory = nullptr;
  cuda_emulator_fail("cudaMalloc", 2, cudaErrorMemoryAllocation, -1, 0);
  CUDA(cudaMalloc(&memory, 16));
  void* second = nullptr;
  CHECK(cuda_emulator_failures_left() == 1);
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&second, 16));
  CHECK(cuda_emulator_failures_left() == 0 && second == nullptr);
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaPeekAtLastError());
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaGetLastError());
  CUDA(cudaGetLastError());
  CUDA(cudaMalloc(&second, 16));
  CUDA(cudaFree(second));

  cuda_emulator_fail("set", 1, cudaErrorLaunchOutOfResources, -1, 0);
  EXPECT_CUDA(cudaErrorLaunchOutOfResources, start("set", 1, 1, nullptr, set_kernel, static_cast<int*>(memory)));
  CUDA(start("set", 1, 1, nullptr, set_kernel, static_cast<int*>(memory)));
  CHECK(copy_back(static_cast<int*>(memory), 1)[0] == 1);
  static_cast<void>(cudaGetLastError());

  ncclUniqueId id;
  cuda_emulator_fail("ncclGetUniqueId", 1, ncclSystemError, -1, 0);
  CHECK(ncclGetUniqueId(&id) == ncclSystemError);
  CUDA(cudaFree(memory));
}

void of_one_device() {
  cuda_emulator_fail("cudaEventCreateWithFlags", 1, cudaErrorInitializationError, 2, 0);
  cudaEvent_t event = nullptr;
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUDA(cudaEventDestroy(event));
  CUDA(cudaSetDevice(2));
  EXPECT_CUDA(cudaErrorInitializationError, cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUDA(cudaSetDevice(0));
  static_cast<void>(cudaGetLastError());
}

void sticky() {
  void* memory = nullptr;
  CUDA(cudaMalloc(&memory, 16));
  cuda_emulator_fail("cudaMemset", 1, cudaErrorIllegalAddress, -1, CUDA_EMULATOR_STICKY);
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaMemset(memory, 0, 16));
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaGetLastError());
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaGetLastError());
  CUDA(cudaSetDevice(1));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaGetLastError());
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaSetDevice(0) == cudaSuccess ? cudaDeviceSynchronize() : cudaSuccess);
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaFree(memory));
  CHECK(cuda_emulator_alive("memory") == 0);
  cuda_emulator_reset();
  CUDA(cudaDeviceSynchronize());
}

// The launch succeeds; who waits for the stream is told.
void asynchronous() {
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto* memory = device_array<int>(1);
  cuda_emulator_fail("set", 1, cudaErrorIllegalAddress, -1, CUDA_EMULATOR_ASYNC);
  CUDA(start("set", 1, 1, stream, set_kernel, memory));
  EXPECT_CUDA(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorIllegalAddress, start("set", 1, 1, stream, set_kernel, memory));
  cuda_emulator_reset();
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(memory));
  static_cast<void>(cudaGetLastError());
}

void counts() {
  cuda_emulator_reset();
  auto* memory = device_array<int>(1);
  CUDA(cudaMemsetAsync(memory, 0, 4, nullptr));
  CUDA(start("set", 1, 1, nullptr, set_kernel, memory));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamQuery(reinterpret_cast<cudaStream_t>(8)));
  CUDA(cudaFree(memory));
  CHECK(cuda_emulator_calls("cudaStreamQuery") == 1 && cuda_emulator_calls("cudaMalloc") == 1);
  CHECK(cuda_emulator_calls("set") == 1 && cuda_emulator_launches() == 1);
  static_cast<void>(cudaGetLastError());
}

// Each alone: what may make the host wait is counted, and what does not is not.
void synchronizations() {
  std::uint64_t before = cuda_emulator_synchronizations();
  const auto counted = [&before] {
    return cuda_emulator_synchronizations() - std::exchange(before, cuda_emulator_synchronizations());
  };
  void* memory = nullptr;
  void* pinned = nullptr;
  cudaEvent_t event = nullptr;
  int value = 0;
  CUDA(cudaMalloc(&memory, 16));
  CHECK(counted() == 1);
  CUDA(cudaHostAlloc(&pinned, 16, cudaHostAllocDefault));
  CHECK(counted() == 1);
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  CUDA(cudaMemsetAsync(memory, 0, 16, nullptr));
  CUDA(start("set", 1, 1, nullptr, set_kernel, static_cast<int*>(memory)));
  CUDA(cudaMemcpyAsync(pinned, memory, 16, cudaMemcpyDeviceToHost, nullptr));
  CUDA(cudaEventRecord(event, nullptr));
  static_cast<void>(cudaEventQuery(event));
  static_cast<void>(cudaStreamQuery(nullptr));
  CHECK(counted() == 0);
  CUDA(cudaMemset(memory, 0, 16));
  CHECK(counted() == 1);
  CUDA(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
  CHECK(counted() == 1);
  CUDA(cudaMemcpyAsync(&value, memory, sizeof value, cudaMemcpyDeviceToHost, nullptr));
  CHECK(counted() == 1);
  CUDA(cudaEventSynchronize(event));
  CHECK(counted() == 1);
  CUDA(cudaStreamSynchronize(nullptr));
  CHECK(counted() == 1);
  CUDA(cudaDeviceSynchronize());
  CHECK(counted() == 1);
  CUDA(cudaFreeHost(pinned));
  CHECK(counted() == 1);
  CUDA(cudaFree(memory));
  CHECK(counted() == 1);
  CUDA(cudaEventDestroy(event));
  CHECK(counted() == 0);
}

// Functions and kernels, since the last reset; of anything but calls there is no name.
void names() {
  cuda_emulator_reset();
  CHECK(cuda_emulator_called(0) == nullptr);
  auto* memory = device_array<int>(1);
  CUDA(start("set", 1, 1, nullptr, set_kernel, memory));
  static_cast<void>(copy_back(memory, 1));
  CUDA(cudaFree(memory));
  ncclUniqueId id;
  CHECK(ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<std::string> names;
  while (const char* name = cuda_emulator_called(names.size())) names.emplace_back(name);
  const auto named = [&names](const char* name) { return std::count(names.begin(), names.end(), name); };
  CHECK(named("cudaMalloc") == 1 && named("set") == 1 && named("cudaFree") == 1 && named("ncclGetUniqueId") == 1);
  CHECK(named("launch") == 0 && named("pageable copy") == 0 && named("cudaMemset") == 0);
  CHECK(std::is_sorted(names.begin(), names.end()));
  cuda_emulator_reset();
  CHECK(cuda_emulator_called(0) == nullptr);
}

// What frees does, whatever it says.
void freeing() {
  void* memory = nullptr;
  void* pinned = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  CUDA(cudaMalloc(&memory, 16));
  CUDA(cudaHostAlloc(&pinned, 16, cudaHostAllocDefault));
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  for (const char* call : {"cudaFree", "cudaFreeHost", "cudaStreamDestroy", "cudaEventDestroy"}) {
    cuda_emulator_fail(call, 1, cudaErrorUnknown, -1, 0);
  }
  EXPECT_CUDA(cudaErrorUnknown, cudaFree(memory));
  EXPECT_CUDA(cudaErrorUnknown, cudaFreeHost(pinned));
  EXPECT_CUDA(cudaErrorUnknown, cudaStreamDestroy(stream));
  EXPECT_CUDA(cudaErrorUnknown, cudaEventDestroy(event));
  CHECK(cuda_emulator_failures_left() == 0 && cuda_emulator_report_leaks() == 0);
  static_cast<void>(cudaGetLastError());
}

void alive() {
  cudaEvent_t event = nullptr;
  CHECK(cuda_emulator_alive("event") == 0);
  CUDA(cudaEventCreateWithFlags(&event, 0));
  CHECK(cuda_emulator_alive("event") == 1);
  CUDA(cudaEventDestroy(event));
  CHECK(cuda_emulator_report_leaks() == 0);
}

void leak() {
  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  static_cast<void>(device_array<int>(4));
  static_cast<void>(device_array<int>(4));
}

void failing_from_environment() {
  void* memory = nullptr;
  CUDA(cudaMalloc(&memory, 16));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&memory, 16));
  EXPECT_CUDA(cudaErrorUnknown, cudaDeviceSynchronize());
  int count = 0, major = 0, minor = 0;
  CUDA(cudaGetDeviceCount(&count));
  CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
  CHECK(count == 2 && major == 8 && minor == 6);
  std::_Exit(7);  // it got here
}

void environment() {
  const Outcome leaked = run_fault("leak", {"CUDA_EMULATOR_LEAK_CHECK=1"});
  CHECK(leaked.failed && leaked.says("leak: 2 of kind 'memory'") && leaked.says("leak: 1 of kind 'stream'"));
  CHECK(!run_fault("leak").failed);
  const Outcome ran =
      run_fault("failing from environment",
                {"CUDA_EMULATOR_FAIL=cudaMalloc:2:cudaErrorMemoryAllocation,cudaDeviceSynchronize:1:999",
                 "CUDA_EMULATOR_DEVICES=2", "CUDA_EMULATOR_CAPABILITY=8.6"});
  CHECK(ran.failed && ran.text.empty());
}

}  // namespace

int main(int argc, char** argv) {
  return run_program(argc, argv,
                     {{"by name", by_name},
                      {"of one device", of_one_device},
                      {"sticky", sticky},
                      {"asynchronous", asynchronous},
                      {"counts", counts},
                      {"synchronizations", synchronizations},
                      {"names", names},
                      {"freeing", freeing},
                      {"alive", alive},
                      {"environment", environment}},
                     {{"leak", leak}, {"failing from environment", failing_from_environment}});
}
