// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/launch_shape.hpp"

namespace tokavg::cuda {

inline constexpr unsigned kPortableCluster = 8;  // larger ones must be allowed

// Allows the kernel what the shape asks for. It holds for the current device, and until the next call.
void allow_shape(const void* kernel, const LaunchShape& shape);

// Whether the current device, or the slice of one that we have, has a group of so many processors as a cluster of this
// shape needs. What the driver has answered once is remembered: asking takes longer than the launch.
bool cluster_fits(const void* kernel, const LaunchShape& shape);

}  // namespace tokavg::cuda
