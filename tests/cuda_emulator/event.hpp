// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "cuda_emulator/handles.hpp"
#include "cuda_emulator/stream.hpp"

namespace cuda_emulator {

// Where it was recorded last: in a stream, or in a capture. Guarded by the lock of captures.
struct Event {
  explicit Event(int device_of_event) : device(device_of_event) {}

  const int device;
  std::shared_ptr<Marker> marker;
  std::shared_ptr<Capture> capture;
  std::vector<std::size_t> nodes;
};

Handles<cudaEvent_t, Event>& events();

// The point that others can wait for now; nullptr: it was never recorded, or last in a capture.
std::shared_ptr<Marker> latest_marker(Event& event);

// The point that the host can wait for; nullptr: it was never recorded. An error if it was last recorded in a capture.
cudaError_t host_marker(Event& event, std::shared_ptr<Marker>* marker);

}  // namespace cuda_emulator
