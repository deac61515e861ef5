// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/function.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/settings.hpp"

namespace cuda_emulator {
namespace {

constexpr std::size_t kSharedMemoryUnasked = 48 * 1024;
constexpr unsigned kPortableCluster = 8;
constexpr unsigned kLargestCluster = 16;

struct Allowed {
  std::size_t shared_bytes = kSharedMemoryUnasked;
  unsigned cluster = kPortableCluster;
};

struct Functions {
  Lock lock;
  std::map<const void*, Allowed> allowed;
};

Functions& functions() {
  static Functions& only = *new Functions;
  return only;
}

Allowed allowed(const void* function) {
  const Locked locked(functions().lock);
  const auto found = functions().allowed.find(function);
  return found == functions().allowed.end() ? Allowed{} : found->second;
}

}  // namespace

std::size_t shared_memory_limit(const void* function) { return allowed(function).shared_bytes; }
unsigned cluster_limit(const void* function) { return allowed(function).cluster; }

// CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
std::size_t most_shared_memory() {
  switch (const int capability = settings().capability) {
    case 70: return 96 * 1024;
    case 75: return 64 * 1024;
    case 80:
    case 87: return 163 * 1024;
    case 86:
    case 89: return 99 * 1024;
    default: return (capability >= 120 ? 99 : 227) * 1024;
  }
}

}  // namespace cuda_emulator

extern "C" cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  using namespace cuda_emulator;
  return api("cudaFuncSetAttribute", [&] {
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    const Locked locked(functions().lock);
    Allowed& own = functions().allowed[function];
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
      const auto bytes = static_cast<std::size_t>(value);
      if (value < 0 || bytes > most_shared_memory()) return cudaErrorInvalidValue;
      own.shared_bytes = std::max(bytes, kSharedMemoryUnasked);
    } else if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
      own.cluster = value != 0 ? kLargestCluster : kPortableCluster;
    } else if (attribute != cudaFuncAttributePreferredSharedMemoryCarveout) {
      return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

// Occupancy is not emulated: what can be launched at all runs once.
extern "C" cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                                      const cudaLaunchConfig_t* config) {
  using namespace cuda_emulator;
  return api("cudaOccupancyMaxActiveClusters", [&] {
    if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
    if (function == nullptr) return cudaErrorInvalidDeviceFunction;
    if (config->dynamicSmemBytes > shared_memory_limit(function)) return cudaErrorInvalidValue;
    unsigned cluster = 1;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttribute& attribute = config->attrs[i];
      if (attribute.id == cudaLaunchAttributeClusterDimension) cluster = attribute.val.clusterDim.x;
    }
    if (settings().capability < 90 || cluster > cluster_limit(function)) return cudaErrorInvalidClusterSize;
    *clusters = 1;
    return cudaSuccess;
  });
}
