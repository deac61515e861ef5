// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/failures.hpp"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdlib>
#include <cstring>
#include <list>
#include <sstream>

#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/report.hpp"

namespace cuda_emulator {
namespace {

struct Plan {
  Lock lock;
  std::list<Failure> failures;
};

// A number, or the name of an error of the runtime or of NCCL.
int error_from(const std::string& text) {
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (end != text.c_str() && *end == '\0') return static_cast<int>(number);
  for (int error = 1; error < 1000; ++error) {
    if (text == cudaGetErrorName(static_cast<cudaError_t>(error))) return error;
  }
  const char* const nccl[] = {"",
                              "ncclUnhandledCudaError",
                              "ncclSystemError",
                              "ncclInternalError",
                              "ncclInvalidArgument",
                              "ncclInvalidUsage",
                              "ncclRemoteError"};
  for (int error = 1; error < 7; ++error) {
    if (text == nccl[error]) return error;
  }
  report("CUDA_EMULATOR_FAIL: unknown error '%s'", text.c_str());
}

std::list<Failure> failures_from_environment() {
  std::list<Failure> failures;
  const char* text = std::getenv("CUDA_EMULATOR_FAIL");
  std::istringstream entries(text == nullptr ? "" : text);
  for (std::string entry; std::getline(entries, entry, ',');) {
    std::istringstream parts(entry);
    Failure failure;
    std::string kth, error;
    if (!std::getline(parts, failure.name, ':') || !std::getline(parts, kth, ':') || !std::getline(parts, error)) {
      report("CUDA_EMULATOR_FAIL: '%s' is not name:kth:error", entry.c_str());
    }
    failure.kth = std::atoi(kth.c_str());
    failure.error = error_from(error);
    failures.push_back(failure);
  }
  return failures;
}

Plan& plan() {
  static Plan& only = *new Plan{{}, failures_from_environment()};
  return only;
}

}  // namespace

void plan_failure(const Failure& failure) {
  const Locked locked(plan().lock);
  plan().failures.push_back(failure);
}

std::optional<Failure> planned_failure(const std::string& name, int device) {
  const Locked locked(plan().lock);
  std::optional<Failure> due;
  for (auto failure = plan().failures.begin(); failure != plan().failures.end();) {
    const bool counts = failure->name == name && (failure->device < 0 || failure->device == device);
    if (!counts || --failure->kth > 0) {
      ++failure;
      continue;
    }
    due = *failure;
    failure = plan().failures.erase(failure);
  }
  return due;
}

int failures_left() {
  const Locked locked(plan().lock);
  return static_cast<int>(plan().failures.size());
}

void forget_failures() {
  const Locked locked(plan().lock);
  plan().failures.clear();
}

}  // namespace cuda_emulator
