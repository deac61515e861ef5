// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include <cstring>

#include "cuda_emulator/device.hpp"
#include "cuda_emulator/memory.hpp"
#include "cuda_emulator/nccl_call.hpp"
#include "cuda_emulator/nccl_communicator.hpp"
#include "cuda_emulator/nccl_group.hpp"
#include "cuda_emulator/nccl_reduction.hpp"

using namespace cuda_emulator;

// NCCL's operations, and what it answers about communicators.
namespace {

enum OperationKind { kAllReduce, kBroadcast };

// NCCL takes memory of the communicator's device, or pinned memory.
bool usable(const Communicator& communicator, const void* begin, std::size_t bytes) {
  const std::optional<Allocation> found = find_allocation(begin);
  if (!found || reinterpret_cast<std::uintptr_t>(begin) - found->begin + bytes > found->size) return false;
  return found->kind == MemoryKind::kPinned || found->device == communicator.device();
}

ncclResult_t check_state(const Communicator& communicator) {
  const ncclResult_t state = communicator.state();
  if (state == ncclSuccess) return ncclSuccess;
  return nccl_fault(ncclInvalidUsage, "the communicator is not ready, or had an error before");
}

ncclResult_t submit_operation(const std::shared_ptr<Communicator>& communicator, Operation operation,
                              cudaStream_t handle) {
  const ncclResult_t broken = check_state(*communicator);
  if (broken != ncclSuccess) return broken;
  const std::size_t bytes = operation.shape.count * size_of(static_cast<ncclDataType_t>(operation.shape.datatype));
  const bool sends = operation.shape.kind == kAllReduce || operation.shape.root == communicator->rank();
  if (size_of(static_cast<ncclDataType_t>(operation.shape.datatype)) == 0) {
    return nccl_fault(ncclInvalidArgument, "the data type is not emulated");
  }
  if (bytes > 0 &&
      (!usable(*communicator, operation.receive, bytes) || (sends && !usable(*communicator, operation.send, bytes)))) {
    return nccl_fault(ncclInvalidArgument, "a buffer is not memory of the communicator's device, or too small");
  }
  const std::shared_ptr<Stream> stream = find_stream(handle);
  if (stream == nullptr || stream->device() != communicator->device()) {
    return nccl_fault(ncclInvalidArgument, "the stream is not one of the communicator's device");
  }
  return run_or_collect({[=] { return communicator->enqueue(stream, operation); }, nullptr});
}

}  // namespace

extern "C" {

ncclResult_t ncclAllReduce(const void* send, void* receive, std::size_t count, ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream) {
  return nccl_api("ncclAllReduce", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    Operation operation{{}, send, receive, nullptr};
    operation.shape.datatype = datatype;
    operation.shape.count = count;
    operation.shape.reduction = op;
    if (op >= ncclNumOps) {
      operation.scale = communicator->reduction(op);
      operation.shape.reduction = ncclNumOps;  // the number of the operator may differ between ranks
      if (operation.scale == nullptr || operation.scale->datatype != datatype) {
        return nccl_fault(ncclInvalidArgument, "no such reduction operator, or one for another type");
      }
    } else if (op < ncclSum || op == ncclAvg) {
      return nccl_fault(ncclInvalidArgument, "the reduction is not emulated");
    }
    return submit_operation(communicator, operation, stream);
  });
}

ncclResult_t ncclBroadcast(const void* send, void* receive, std::size_t count, ncclDataType_t datatype, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return nccl_api("ncclBroadcast", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    if (root < 0 || root >= communicator->ranks()) return nccl_fault(ncclInvalidArgument, "no such root");
    Operation operation{{}, send, receive, nullptr};
    operation.shape.kind = kBroadcast;
    operation.shape.datatype = datatype;
    operation.shape.count = count;
    operation.shape.root = root;
    return submit_operation(communicator, operation, stream);
  });
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  return nccl_api("ncclRedOpCreatePreMulSum", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    const std::size_t size = size_of(datatype);
    if (op == nullptr || scalar == nullptr || size == 0) return nccl_fault(ncclInvalidArgument, "operator or scalar");
    PreMulSum reduction{datatype, {}, nullptr};
    if (residence == ncclScalarHostImmediate) {
      reduction.value.resize(size);
      std::memcpy(reduction.value.data(), scalar, size);
    } else if (usable(*communicator, scalar, size)) {
      reduction.device_scalar = scalar;
    } else {
      return nccl_fault(ncclInvalidArgument, "the scalar is not memory of the communicator's device");
    }
    return communicator->add_reduction(std::move(reduction), op);
  });
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
  return nccl_api("ncclRedOpDestroy", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    return communicator->remove_reduction(op);
  });
}

ncclResult_t ncclGetVersion(int* version) {
  return nccl_api("ncclGetVersion", current_device(), [&] {
    if (version == nullptr) return nccl_fault(ncclInvalidArgument, "version is NULL");
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return nccl_api("ncclCommGetAsyncError", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    if (error == nullptr) return nccl_fault(ncclInvalidArgument, "error is NULL");
    *error = communicator->state();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return nccl_api("ncclCommCount", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    if (count == nullptr) return nccl_fault(ncclInvalidArgument, "count is NULL");
    *count = communicator->ranks();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return nccl_api("ncclCommUserRank", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    if (rank == nullptr) return nccl_fault(ncclInvalidArgument, "rank is NULL");
    *rank = communicator->rank();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device) {
  return nccl_api("ncclCommCuDevice", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    if (device == nullptr) return nccl_fault(ncclInvalidArgument, "device is NULL");
    *device = communicator->device();
    return ncclSuccess;
  });
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError: return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) { return nccl_error(); }

}  // extern "C"
