// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/calls.hpp"

#include <array>
#include <atomic>
#include <map>

#include "cuda_emulator/device.hpp"
#include "cuda_emulator/failures.hpp"
#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/settings.hpp"

namespace cuda_emulator {
namespace {

struct Count {
  std::uint64_t calls = 0;
  bool has_a_name = false;  // of a function or a kernel
};

// A name that was called stays here: its text may be asked for and kept.
struct Counts {
  Lock lock;
  std::map<std::string, Count> counts;
};

Counts& counts() {
  static Counts& only = *new Counts;
  return only;
}

std::array<std::atomic<cudaError_t>, kMostDevices> device_errors{};

thread_local cudaError_t last = cudaSuccess;

}  // namespace

cudaError_t begin_call(const char* name) {
  count_call(name);
  const int device = current_device();
  if (const std::optional<Failure> failure = planned_failure(name, device)) {
    const auto error = static_cast<cudaError_t>(failure->error);
    if ((failure->flags & CUDA_EMULATOR_STICKY) != 0) break_device(device, error);
    return error;
  }
  return cudaSuccess;
}

cudaError_t device_error_now() { return settings().devices == 0 ? cudaErrorNoDevice : device_error(current_device()); }

cudaError_t end_call(cudaError_t result) {
  if (result != cudaSuccess && result != cudaErrorNotReady) last = result;
  return result;
}

cudaError_t last_error(bool forget) {
  const cudaError_t broken = device_error(current_device());
  const cudaError_t error = broken != cudaSuccess ? broken : last;
  if (forget) last = cudaSuccess;
  return error;
}

void count_call(const char* name) {
  const Locked locked(counts().lock);
  Count& count = counts().counts[name];
  ++count.calls;
  count.has_a_name = true;
}

void count_kind(const char* kind) {
  const Locked locked(counts().lock);
  ++counts().counts[kind].calls;
}

std::uint64_t calls(const std::string& name) {
  const Locked locked(counts().lock);
  const auto found = counts().counts.find(name);
  return found == counts().counts.end() ? 0 : found->second.calls;
}

const char* called(std::size_t index) {
  const Locked locked(counts().lock);
  for (const auto& [name, count] : counts().counts) {
    if (count.has_a_name && count.calls > 0 && index-- == 0) return name.c_str();
  }
  return nullptr;
}

void forget_calls() {
  const Locked locked(counts().lock);
  for (auto& [name, count] : counts().counts) count.calls = 0;
}

void break_device(int device, cudaError_t error) { device_errors[static_cast<std::size_t>(device)] = error; }
cudaError_t device_error(int device) { return device_errors[static_cast<std::size_t>(device)]; }

void mend_devices() {
  for (std::atomic<cudaError_t>& error : device_errors) error = cudaSuccess;
}

}  // namespace cuda_emulator
