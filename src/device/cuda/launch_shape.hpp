// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace tokavg::cuda {

struct LaunchShape {
  unsigned blocks = 1;
  unsigned threads = 1;          // of a block
  std::size_t shared_bytes = 0;  // dynamic, of a block
  unsigned cluster = 1;          // blocks of a cluster; divides `blocks`
};

// A shape as the runtime takes it.
class LaunchConfig {
 public:
  LaunchConfig(const LaunchShape& shape, cudaStream_t stream) {
    config_.gridDim = dim3(shape.blocks);
    config_.blockDim = dim3(shape.threads);
    config_.dynamicSmemBytes = shape.shared_bytes;
    config_.stream = stream;
    if (shape.cluster == 1) return;
    cluster_.id = cudaLaunchAttributeClusterDimension;
    cluster_.val.clusterDim.x = shape.cluster;
    cluster_.val.clusterDim.y = 1;
    cluster_.val.clusterDim.z = 1;
    config_.attrs = &cluster_;
    config_.numAttrs = 1;
  }
  LaunchConfig(const LaunchConfig&) = delete;  // it points into itself
  LaunchConfig& operator=(const LaunchConfig&) = delete;
  [[nodiscard]] const cudaLaunchConfig_t& get() const noexcept { return config_; }

 private:
  cudaLaunchConfig_t config_{};
  cudaLaunchAttribute cluster_{};
};

}  // namespace tokavg::cuda
