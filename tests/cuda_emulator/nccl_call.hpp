// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <memory>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/failures.hpp"
#include "cuda_emulator/nccl_communicator.hpp"

namespace cuda_emulator {

inline ncclResult_t nccl_fault(ncclResult_t result, const char* why) {
  set_nccl_error(why);
  return result;
}

// Counts the call, and gives back the error that was planned for it.
inline ncclResult_t begin_nccl_call(const char* name, int device, Communicator* communicator) {
  count_call(name);
  const std::optional<Failure> failure = planned_failure(name, device);
  if (!failure) return ncclSuccess;
  const auto error = static_cast<ncclResult_t>(failure->error);
  if ((failure->flags & CUDA_EMULATOR_ASYNC) == 0) return nccl_fault(error, "a failure that the test planned");
  if (communicator != nullptr) communicator->fail_next(error);
  return ncclSuccess;
}

// The body of every NCCL function.
template <typename Body>
ncclResult_t nccl_api(const char* name, int device, Body body) {
  const ncclResult_t planned = begin_nccl_call(name, device, nullptr);
  return planned != ncclSuccess ? planned : body();
}

// The same for a function of a communicator.
template <typename Body>
ncclResult_t nccl_api(const char* name, ncclComm_t comm, Body body) {
  const std::shared_ptr<Communicator> communicator = communicators().find(comm);
  const int device = communicator == nullptr ? -1 : communicator->device();
  const ncclResult_t planned = begin_nccl_call(name, device, communicator.get());
  if (planned != ncclSuccess) return planned;
  return communicator == nullptr ? nccl_fault(ncclInvalidArgument, "no such communicator") : body(communicator);
}

// The same for a function that ends it, which it does even if that was to fail.
template <typename Body>
ncclResult_t nccl_api_free(const char* name, ncclComm_t comm, Body body) {
  const std::shared_ptr<Communicator> communicator = communicators().remove(comm);
  const int device = communicator == nullptr ? -1 : communicator->device();
  const ncclResult_t planned = begin_nccl_call(name, device, nullptr);
  if (communicator == nullptr) return nccl_fault(ncclInvalidArgument, "no such communicator");
  communicator->end();
  const ncclResult_t result = body(communicator);
  return planned != ncclSuccess ? planned : result;
}

}  // namespace cuda_emulator
