// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "cuda_emulator/calls.hpp"
#include "cuda_emulator/device.hpp"
#include "cuda_emulator/device_code.hpp"
#include "cuda_emulator/failures.hpp"
#include "cuda_emulator/function.hpp"
#include "cuda_emulator/kernel.hpp"
#include "cuda_emulator/memory.hpp"
#include "cuda_emulator/settings.hpp"
#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {
namespace {

constexpr unsigned kMostGridY = 65535;

bool read_attributes(const cudaLaunchConfig_t& config, unsigned* cluster) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != cudaLaunchAttributeClusterDimension) return false;
    if (attribute.val.clusterDim.y != 1 || attribute.val.clusterDim.z != 1) return false;
    *cluster = attribute.val.clusterDim.x;
  }
  return true;
}

cudaError_t check_shape(const Kernel& kernel, const void* function) {
  const dim3& grid = kernel.grid;
  const dim3& block = kernel.block;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffffU || grid.y > kMostGridY || grid.z > kMostGridY) {
    return cudaErrorInvalidConfiguration;
  }
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || threads > 1024 || block.z > 64) return cudaErrorInvalidConfiguration;
  if (kernel.shared_bytes > shared_memory_limit(function)) return cudaErrorInvalidValue;
  if (kernel.cluster == 1) return cudaSuccess;
  const bool possible = settings().capability >= 90 && kernel.cluster <= cluster_limit(function);
  return possible && grid.x % kernel.cluster == 0 ? cudaSuccess : cudaErrorInvalidClusterSize;
}

cudaError_t submit_kernel(Kernel kernel, cudaStream_t handle, const void* function) {
  const std::shared_ptr<Stream> stream = find_stream(handle);
  if (stream == nullptr || stream->device() != current_device()) return cudaErrorInvalidResourceHandle;
  const cudaError_t wrong = check_shape(kernel, function);
  if (wrong != cudaSuccess) return wrong;
  const int device = stream->device();
  const auto shared = std::make_shared<const Kernel>(std::move(kernel));
  return submit(stream, {[shared, device] {
                  const DeviceAccess access(device);
                  run_kernel(*shared, random_of_stream());
                }});
}

// The device breaks when the stream gets there.
cudaError_t submit_fault(cudaStream_t handle, cudaError_t error) {
  const std::shared_ptr<Stream> stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  const int device = stream->device();
  return submit(stream, {[device, error] { break_device(device, error); }});
}

}  // namespace

cudaError_t launch(const char* name, const cudaLaunchConfig_t& config, std::function<void()> body,
                   const void* function) {
  count_call(name);
  count_kind("launch");
  const cudaError_t broken = device_error(current_device());
  if (broken != cudaSuccess) return end_call(broken);
  if (const std::optional<Failure> failure = planned_failure(name, current_device())) {
    const auto error = static_cast<cudaError_t>(failure->error);
    if ((failure->flags & CUDA_EMULATOR_ASYNC) != 0) return end_call(submit_fault(config.stream, error));
    if ((failure->flags & CUDA_EMULATOR_STICKY) != 0) break_device(current_device(), error);
    return end_call(error);
  }
  Kernel kernel{name, config.gridDim, config.blockDim, 1, config.dynamicSmemBytes, std::move(body)};
  if (!read_attributes(config, &kernel.cluster)) return end_call(cudaErrorInvalidValue);
  return end_call(submit_kernel(std::move(kernel), config.stream, function));
}

}  // namespace cuda_emulator
