// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/capture.hpp"
#include "cuda_emulator/copy.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/memory.hpp"

using namespace cuda_emulator;

namespace {

cudaError_t allocate_into(void** pointer, std::size_t size, MemoryKind kind) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  const cudaError_t unsafe = check_unsafe_call();
  if (unsafe != cudaSuccess) return unsafe;
  void* memory = size == 0 ? nullptr : allocate(size, kind, current_device());
  if (memory == nullptr && size > 0) return cudaErrorMemoryAllocation;
  *pointer = memory;
  return cudaSuccess;
}

cudaError_t copy_on(cudaStream_t handle, void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                    bool host_waits) {
  const std::shared_ptr<Stream> stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  Copy copy;
  const cudaError_t wrong = plan_copy(to, from, size, kind, &copy);
  if (wrong != cudaSuccess) return wrong;
  bool waits = false;
  const cudaError_t result = submit_copy(stream, copy, &waits);
  if (result != cudaSuccess) return result;
  if (!host_waits && waits) count_kind("pageable copy");
  if (host_waits || waits) stream->synchronize();
  return device_error(stream->device());
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t size) {
  return api("cudaMalloc", [&] { return allocate_into(pointer, size, MemoryKind::kDevice); });
}

cudaError_t cudaFree(void* pointer) {
  return api_of_free("cudaFree", [&] {
    if (pointer == nullptr) return cudaSuccess;
    const std::optional<Allocation> found = find_allocation(pointer);
    if (!found || found->kind != MemoryKind::kDevice) return cudaErrorInvalidValue;
    const cudaError_t unsafe = check_unsafe_call();
    if (unsafe != cudaSuccess) return unsafe;
    synchronize_device(found->device);
    return release(pointer, MemoryKind::kDevice) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  return api("cudaHostAlloc", [&] {
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if ((flags & ~known) != 0) return cudaErrorInvalidValue;
    return allocate_into(pointer, size, MemoryKind::kPinned);
  });
}

cudaError_t cudaFreeHost(void* pointer) {
  return api_of_free("cudaFreeHost", [&] {
    if (pointer == nullptr) return cudaSuccess;
    const cudaError_t unsafe = check_unsafe_call();
    if (unsafe != cudaSuccess) return unsafe;
    return release(pointer, MemoryKind::kPinned) ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned flags) {
  return api("cudaHostGetDevicePointer", [&] {
    const std::optional<Allocation> found = find_allocation(host_pointer);
    const bool pinned = found && found->kind == MemoryKind::kPinned;
    if (device_pointer == nullptr || flags != 0 || !pinned) return cudaErrorInvalidValue;
    *device_pointer = host_pointer;
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return api("cudaMemcpy", [&] {
    const cudaError_t unsafe = check_unsafe_call();
    if (unsafe != cudaSuccess) return unsafe;
    return copy_on(cudaStreamLegacy, to, from, size, kind, kind != cudaMemcpyDeviceToDevice);
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyAsync", [&] { return copy_on(stream, to, from, size, kind, false); });
}

cudaError_t cudaMemset(void* to, int value, std::size_t size) {
  return api("cudaMemset", [&] {
    const cudaError_t unsafe = check_unsafe_call();
    if (unsafe != cudaSuccess) return unsafe;
    return submit_fill(find_stream(cudaStreamLegacy), to, value, size);
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t size, cudaStream_t handle) {
  return api("cudaMemsetAsync", [&] {
    const std::shared_ptr<Stream> stream = find_stream(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : submit_fill(stream, to, value, size);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return api("cudaPointerGetAttributes", [&] {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    *attributes = {};
    attributes->hostPointer = const_cast<void*>(pointer);
    attributes->device = -1;
    const std::optional<Allocation> found = find_allocation(pointer);
    if (!found) return cudaSuccess;
    const bool on_device = found->kind == MemoryKind::kDevice;
    attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
    attributes->device = found->device;
    // Without peer access a device reaches its own memory alone.
    const bool reached = !on_device || found->device == current_device();
    attributes->devicePointer = reached ? const_cast<void*>(pointer) : nullptr;
    attributes->hostPointer = on_device ? nullptr : const_cast<void*>(pointer);
    return cudaSuccess;
  });
}

}  // extern "C"
