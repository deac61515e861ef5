// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>

namespace cuda_emulator {

// Before a call does anything: counts it, and gives back the error that was planned for it.
cudaError_t begin_call(const char* name);

// Keeps the error of the last call of this thread for cudaGetLastError().
cudaError_t end_call(cudaError_t result);

// The sticky error of the current device.
cudaError_t device_error_now();

// The body of every runtime function.
template <typename Body>
cudaError_t api(const char* name, Body body) {
  const cudaError_t planned = begin_call(name);
  if (planned != cudaSuccess) return end_call(planned);
  const cudaError_t broken = device_error_now();
  return end_call(broken != cudaSuccess ? broken : body());
}

// The same for what needs no device.
template <typename Body>
cudaError_t api_of_host(const char* name, Body body) {
  const cudaError_t planned = begin_call(name);
  return end_call(planned != cudaSuccess ? planned : body());
}

// The same for what frees something: on a broken device too, and where it is to fail, so that what is alive
// afterwards was forgotten.
template <typename Body>
cudaError_t api_of_free(const char* name, Body body) {
  const cudaError_t planned = begin_call(name);
  const cudaError_t broken = device_error_now();
  const cudaError_t result = body();
  if (planned != cudaSuccess) return end_call(planned);
  return end_call(broken != cudaSuccess ? broken : result);
}

cudaError_t last_error(bool forget);

// Counts a call of a function, or a launch of a kernel.
void count_call(const char* name);
// Counts what is not a call of its own.
void count_kind(const char* kind);
std::uint64_t calls(const std::string& name);
// The name of the function or kernel that is number `index` of those called; nullptr behind the last.
const char* called(std::size_t index);
void forget_calls();

// An error that the device does not recover from; its streams then skip their work.
void break_device(int device, cudaError_t error);
cudaError_t device_error(int device);
void mend_devices();

}  // namespace cuda_emulator
