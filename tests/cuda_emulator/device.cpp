// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/device.hpp"

#include <algorithm>
#include <array>

#include "cuda_emulator/capture.hpp"
#include "cuda_emulator/settings.hpp"

namespace cuda_emulator {
namespace {

// Its lock decides the order in which host threads enqueue; the streams' own threads never take it.
struct Device {
  Lock lock;
  std::shared_ptr<Stream> default_stream;
  std::vector<std::shared_ptr<Stream>> streams;
};

thread_local int chosen_device = 0;

Device& device_of(int number) {
  static std::array<Device, kMostDevices>& all = *new std::array<Device, kMostDevices>;
  return all[static_cast<std::size_t>(number)];
}

const std::shared_ptr<Stream>& default_stream(int number) {
  Device& device = device_of(number);
  const Locked locked(device.lock);
  if (device.default_stream == nullptr) device.default_stream = std::make_shared<Stream>(number, Stream::Kind::kLegacy);
  return device.default_stream;
}

void forget_closed(Device& device) {
  std::erase_if(device.streams, [](const std::shared_ptr<Stream>& stream) { return stream->done(); });
}

void wait_for_blocking_streams(Device& device) {
  for (const std::shared_ptr<Stream>& other : device.streams) {
    if (!other->blocking() || other->awaited == other->enqueued) continue;
    other->awaited = other->enqueued;
    device.default_stream->push_wait(other->push_marker());
  }
}

void wait_for_default_stream(Device& device, Stream& stream) {
  if (device.default_stream == nullptr || stream.default_awaited == device.default_stream->enqueued) return;
  stream.default_awaited = device.default_stream->enqueued;
  stream.push_wait(device.default_stream->push_marker());
}

std::vector<std::shared_ptr<Stream>> streams_of(int number) {
  Device& device = device_of(number);
  const Locked locked(device.lock);
  std::vector<std::shared_ptr<Stream>> all = device.streams;
  if (device.default_stream != nullptr) all.push_back(device.default_stream);
  return all;
}

}  // namespace

int current_device() { return chosen_device; }

bool set_current_device(int device) {
  if (device < 0 || device >= settings().devices) return false;
  chosen_device = device;
  return true;
}

Handles<cudaStream_t, Stream>& streams() {
  static Handles<cudaStream_t, Stream>& all = *new Handles<cudaStream_t, Stream>;
  return all;
}

std::shared_ptr<Stream> find_stream(cudaStream_t handle) {
  const bool legacy = handle == nullptr || handle == cudaStreamLegacy;
  return legacy ? default_stream(chosen_device) : streams().find(handle);
}

std::shared_ptr<Stream> make_stream(int number, bool blocking) {
  const Stream::Kind kind = blocking ? Stream::Kind::kBlocking : Stream::Kind::kNonBlocking;
  auto stream = std::make_shared<Stream>(number, kind);
  Device& device = device_of(number);
  const Locked locked(device.lock);
  forget_closed(device);
  device.streams.push_back(stream);
  return stream;
}

void enqueue(const std::shared_ptr<Stream>& stream, const std::function<void()>& push) {
  Device& device = device_of(stream->device());
  const Locked locked(device.lock);
  if (stream->legacy()) {
    wait_for_blocking_streams(device);
  } else if (stream->blocking()) {
    wait_for_default_stream(device, *stream);
  }
  ++stream->enqueued;
  push();
}

void enqueue(const std::shared_ptr<Stream>& stream, Work work) {
  enqueue(stream, std::function<void()>([&] { stream->push(std::move(work)); }));
}

cudaError_t submit(const std::shared_ptr<Stream>& stream, Work work) {
  bool captured = false;
  const cudaError_t result = capture_work(*stream, work, captured);
  if (result == cudaSuccess && !captured) enqueue(stream, std::move(work));
  return result;
}

bool device_idle(int device) {
  const std::vector<std::shared_ptr<Stream>> all = streams_of(device);
  return std::all_of(all.begin(), all.end(), [](const std::shared_ptr<Stream>& stream) { return stream->idle(); });
}

void synchronize_device(int device) {
  for (const std::shared_ptr<Stream>& stream : streams_of(device)) stream->synchronize();
}

}  // namespace cuda_emulator
