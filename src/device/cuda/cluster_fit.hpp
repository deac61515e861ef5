// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/launch_shape.hpp"

namespace tokavg::cuda {

inline constexpr unsigned kPortableCluster = 8;  // larger ones must be allowed

// Allows the kernel, which has no static shared memory, the most that the current device has, and large clusters. It
// always asks for the same: another thread may be about to launch the kernel too.
void allow_all(const void* kernel);

// Whether the current device, or the slice of one that we have, has a group of so many processors as a cluster of this
// shape needs. What the driver has answered once is remembered: asking takes longer than the launch.
bool cluster_fits(const void* kernel, const LaunchShape& shape);

}  // namespace tokavg::cuda
