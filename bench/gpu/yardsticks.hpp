// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Kernels that the library's are compared with.
namespace tokavg_bench {

// Reads all of it, a multiple of 16 bytes, and adds the sum of its 32-bit words to *sum. The device's fastest read that
// we know: four loads of 16 bytes in flight a thread.
void launch_read(const void* data, std::size_t bytes, std::uint32_t* sum, cudaStream_t stream);

// Keeps the stream busy for a while, so that what comes after it was enqueued before it starts: no launch is timed.
void launch_delay(std::uint64_t ns, cudaStream_t stream);

}  // namespace tokavg_bench
