// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "cuda_emulator/control.h"
#include "cuda_emulator/device_code.hpp"
#include "cuda_emulator/sanitizers.hpp"

// A small frame for the emulator's own tests: a program is a list of cases, and of faults that a case plants in a
// child process to see them caught.
namespace emulator_test {

#define CHECK(condition) ((condition) ? static_cast<void>(0) : emulator_test::fail(__FILE__, __LINE__, #condition, ""))
#define CUDA(call) emulator_test::check_cuda(__FILE__, __LINE__, #call, call)
#define EXPECT_CUDA(error, call) emulator_test::expect_cuda(__FILE__, __LINE__, #call, error, call)

[[noreturn]] inline void fail(const char* file, int line, const char* what, const char* why) {
  std::fprintf(stderr, "%s:%d: %s %s\n", file, line, what, why);
  std::_Exit(1);
}

inline void expect_cuda(const char* file, int line, const char* call, cudaError_t expected, cudaError_t got) {
  if (got == expected) return;
  fail(file, line, call, (std::string("gave ") + cudaGetErrorName(got)).c_str());
}

inline void check_cuda(const char* file, int line, const char* call, cudaError_t got) {
  expect_cuda(file, line, call, cudaSuccess, got);
}

struct Case {
  const char* name;
  std::function<void()> run;
};

// How a child ended: it aborted, or a sanitizer or a check stopped it, and what it said.
struct Outcome {
  bool aborted = false;
  bool failed = false;
  std::string text;

  bool says(const char* words) const { return text.find(words) != std::string::npos; }
  bool raced() const { return says("ThreadSanitizer: data race"); }
};

// Runs a fault of this program in a child. `environment`: "NAME=value".
Outcome run_fault(const char* name, const std::vector<std::string>& environment = {});

// A fault that need not show every time: whether one of so many seeds shows it.
bool shows_over_seeds(const char* name, int seeds);

// Without arguments all cases, or the one named; "fault NAME" one of the faults.
int run_program(int argc, char** argv, const std::vector<Case>& cases, const std::vector<Case>& faults);

// As in src/device/cuda/gpu.hpp, without its errors.
template <typename... Parameters, typename... Arguments>
cudaError_t start(const char* name, dim3 grid, dim3 block, cudaStream_t stream, void (*kernel)(Parameters...),
                  Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cuda_emulator::launch(
      name, config, [=] { kernel(static_cast<Parameters>(arguments)...); }, reinterpret_cast<const void*>(kernel));
}

template <typename Value>
Value* device_array(std::size_t count) {
  void* memory = nullptr;
  CUDA(cudaMalloc(&memory, count * sizeof(Value)));
  return static_cast<Value*>(memory);
}

template <typename Value>
Value* pinned_array(std::size_t count) {
  void* memory = nullptr;
  CUDA(cudaHostAlloc(&memory, count * sizeof(Value), cudaHostAllocMapped));
  return static_cast<Value*>(memory);
}

template <typename Value>
std::vector<Value> copy_back(const Value* device, std::size_t count) {
  std::vector<Value> host(count);
  CUDA(cudaMemcpy(host.data(), device, count * sizeof(Value), cudaMemcpyDeviceToHost));
  return host;
}

}  // namespace emulator_test
