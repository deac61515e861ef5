// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "cuda_emulator/handles.hpp"
#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {

int current_device();
bool set_current_device(int device);

Handles<cudaStream_t, Stream>& streams();

// nullptr: no such stream. 0 is the legacy default stream of the current device.
std::shared_ptr<Stream> find_stream(cudaStream_t handle);

// A stream that cudaDeviceSynchronize() and the legacy default stream know of, until it is closed and idle.
std::shared_ptr<Stream> make_stream(int device, bool blocking);

// Enqueues, or captures if the stream is being captured. The one way in which work gets into a stream.
cudaError_t submit(const std::shared_ptr<Stream>& stream, Work work);

// The same for a stream that is not captured. A work of the legacy default stream of a device comes after all of its
// blocking streams, and before what they get later.
void enqueue(const std::shared_ptr<Stream>& stream, Work work);
void enqueue(const std::shared_ptr<Stream>& stream, const std::function<void()>& push);

bool device_idle(int device);
void synchronize_device(int device);

}  // namespace cuda_emulator
