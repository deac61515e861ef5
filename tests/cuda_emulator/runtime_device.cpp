// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/function.hpp"
#include "cuda_emulator/settings.hpp"

using namespace cuda_emulator;

namespace {

cudaError_t attribute_of(cudaDeviceAttr attribute, int* value) {
  const int capability = settings().capability;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor: *value = capability / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = capability % 10; break;
    case cudaDevAttrClusterLaunch: *value = capability >= 90 ? 1 : 0; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 * 1024; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = static_cast<int>(most_shared_memory()); break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = static_cast<int>(most_shared_memory()) + 1024; break;
    case cudaDevAttrReservedSharedMemoryPerBlock: *value = 1024; break;
    case cudaDevAttrMultiProcessorCount: *value = 4; break;
    case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = 65536; break;
    case cudaDevAttrMaxGridDimX: *value = 0x7fffffff; break;
    case cudaDevAttrMaxGridDimY: *value = 65535; break;
    case cudaDevAttrL2CacheSize: *value = 4 << 20; break;
    case cudaDevAttrPageableMemoryAccess: *value = 0; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrStreamPrioritiesSupported: *value = 1; break;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrComputeMode:
    case cudaDevAttrIntegrated: *value = 0; break;
    default: return cudaErrorNotSupported;  // not one that the emulator knows: add it
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return api_of_host("cudaGetDeviceCount", [&] {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = settings().devices;
    return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api_of_host("cudaGetDevice", [&] {
    if (device == nullptr) return cudaErrorInvalidValue;
    if (settings().devices == 0) return cudaErrorNoDevice;
    *device = current_device();
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return api_of_host("cudaSetDevice",
                     [&] { return set_current_device(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api_of_host("cudaDeviceGetAttribute", [&] {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (device < 0 || device >= settings().devices) return cudaErrorInvalidDevice;
    return attribute_of(attribute, value);
  });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return api_of_host("cudaRuntimeGetVersion", [&] {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return api_of_host("cudaDriverGetVersion", [&] {
    if (version == nullptr) return cudaErrorInvalidValue;
    *version = CUDART_VERSION;
    return cudaSuccess;
  });
}

cudaError_t cudaGetLastError() { return last_error(true); }
cudaError_t cudaPeekAtLastError() { return last_error(false); }

}  // extern "C"
