// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/capture.hpp"

#include <algorithm>
#include <utility>

#include "cuda_emulator/device.hpp"

namespace cuda_emulator {
namespace {

struct Captures {
  Lock lock;
  std::vector<std::shared_ptr<Capture>> active;
  unsigned long long next_id = 1;
};

Captures& captures() {
  static Captures& only = *new Captures;
  return only;
}

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

void insert(std::vector<std::size_t>& tail, const std::vector<std::size_t>& nodes) {
  for (const std::size_t node : nodes) {
    if (std::find(tail.begin(), tail.end(), node) == tail.end()) tail.push_back(node);
  }
}

cudaError_t invalidate(Capture& capture, cudaError_t why) {
  capture.invalid = true;
  return why;
}

// Use of the legacy default stream would order it with the blocking streams of the device, captured ones too.
Capture* capture_of_blocking_stream(int device) {
  for (const std::shared_ptr<Capture>& capture : captures().active) {
    for (const Capture::Member& member : capture->members) {
      if (member.stream->blocking() && member.stream->device() == device) return capture.get();
    }
  }
  return nullptr;
}

cudaError_t check_default_stream(const Stream& stream) {
  Capture* const capture = stream.legacy() ? capture_of_blocking_stream(stream.device()) : nullptr;
  return capture == nullptr ? cudaSuccess : invalidate(*capture, cudaErrorStreamCaptureImplicit);
}

void close(Capture& capture) {
  for (Capture::Member& member : capture.members) member.stream->capture = nullptr;
  std::erase_if(captures().active, [&](const std::shared_ptr<Capture>& other) { return other.get() == &capture; });
}

cudaError_t may_end(const Stream& stream, const Capture& capture) {
  if (capture.members[0].stream.get() != &stream) return cudaErrorStreamCaptureUnmatched;
  const bool any_thread = capture.mode == cudaStreamCaptureModeRelaxed;
  if (!any_thread && capture.thread != std::this_thread::get_id()) return cudaErrorStreamCaptureWrongThread;
  return cudaSuccess;
}

}  // namespace

Capture::Capture(std::shared_ptr<Stream> origin, cudaStreamCaptureMode mode_of_capture, unsigned long long number)
    : mode(mode_of_capture), id(number), thread(std::this_thread::get_id()) {
  join(origin);
}

Capture::Member* Capture::member(const Stream& stream) {
  for (Member& candidate : members) {
    if (candidate.stream.get() == &stream) return &candidate;
  }
  return nullptr;
}

Capture::Member& Capture::join(const std::shared_ptr<Stream>& stream) {
  graph.lane_devices.push_back(stream->device());
  return members.emplace_back(Member{stream, {}});
}

std::size_t Capture::lane(const Stream& stream) const {
  std::size_t lane = 0;
  while (members[lane].stream.get() != &stream) ++lane;
  return lane;
}

void Capture::add_node(const Stream& stream, const Work& work, std::shared_ptr<Event> external) {
  Member& own = *member(stream);
  graph.nodes.push_back({lane(stream), own.tail, work, std::move(external)});
  own.tail = {graph.nodes.size() - 1};
}

bool Capture::joined() const {
  std::vector<bool> reached(graph.nodes.size(), false);
  for (const std::size_t node : members[0].tail) reached[node] = true;
  for (std::size_t node = graph.nodes.size(); node-- > 0;) {
    if (!reached[node]) continue;
    for (const std::size_t earlier : graph.nodes[node].after) reached[earlier] = true;
  }
  return std::all_of(reached.begin(), reached.end(), [](bool is) { return is; });
}

cudaError_t begin_capture(const std::shared_ptr<Stream>& stream, cudaStreamCaptureMode mode) {
  const Locked locked(captures().lock);
  if (stream->legacy()) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture != nullptr) return cudaErrorIllegalState;
  stream->capture = std::make_shared<Capture>(stream, mode, captures().next_id++);
  captures().active.push_back(stream->capture);
  return cudaSuccess;
}

cudaError_t end_capture(const std::shared_ptr<Stream>& stream, std::shared_ptr<Graph>* graph) {
  const Locked locked(captures().lock);
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return cudaErrorIllegalState;
  const cudaError_t refused = may_end(*stream, *capture);
  if (refused != cudaSuccess) return refused;
  close(*capture);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!capture->joined()) return cudaErrorStreamCaptureUnjoined;
  *graph = std::make_shared<Graph>(capture->graph);
  return cudaSuccess;
}

cudaError_t capture_info(const Stream& stream, CaptureInfo* info) {
  const Locked locked(captures().lock);
  if (stream.legacy() && capture_of_blocking_stream(stream.device()) != nullptr) return cudaErrorStreamCaptureImplicit;
  if (stream.capture == nullptr) return cudaSuccess;
  Capture& capture = *stream.capture;
  info->status = capture.invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  info->id = capture.id;
  info->dependencies = capture.member(stream)->tail.size();
  return cudaSuccess;
}

cudaError_t capture_work(const Stream& stream, const Work& work, bool& captured) {
  const Locked locked(captures().lock);
  captured = stream.capture != nullptr;
  if (!captured) return check_default_stream(stream);
  if (stream.capture->invalid) return cudaErrorStreamCaptureInvalidated;
  stream.capture->add_node(stream, work);
  return cudaSuccess;
}

cudaError_t record_event(const std::shared_ptr<Stream>& stream, Event& event) {
  const Locked locked(captures().lock);
  if (stream->capture == nullptr) {
    const cudaError_t implicit = check_default_stream(*stream);
    if (implicit != cudaSuccess) return implicit;
    auto marker = std::make_shared<Marker>();
    enqueue(stream, {[marker] { marker->reach(); }, true});
    event.marker = marker;
    event.capture = nullptr;
    return cudaSuccess;
  }
  if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  event.capture = stream->capture;
  event.nodes = stream->capture->member(*stream)->tail;
  event.marker = nullptr;
  return cudaSuccess;
}

namespace {

// The event was recorded in `capture`: the stream becomes part of it.
cudaError_t wait_in_capture(const std::shared_ptr<Stream>& stream, Event& event) {
  Capture& capture = *event.capture;
  const bool active = capture.members[0].stream->capture.get() == &capture;
  if (!active) return cudaErrorCapturedEvent;
  if (capture.invalid) return cudaErrorStreamCaptureInvalidated;
  if (stream->legacy()) return invalidate(capture, cudaErrorStreamCaptureImplicit);
  if (stream->capture != nullptr && stream->capture != event.capture) {
    stream->capture->invalid = true;
    return invalidate(capture, cudaErrorStreamCaptureMerge);
  }
  Capture::Member* member = capture.member(*stream);
  if (member == nullptr) member = &capture.join(stream);
  stream->capture = event.capture;
  insert(member->tail, event.nodes);
  return cudaSuccess;
}

}  // namespace

cudaError_t wait_for_event(const std::shared_ptr<Stream>& stream, Event& event) {
  const Locked locked(captures().lock);
  if (event.capture != nullptr) return wait_in_capture(stream, event);
  if (stream->capture != nullptr) {
    if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
    return invalidate(*stream->capture, cudaErrorStreamCaptureIsolation);
  }
  const cudaError_t implicit = check_default_stream(*stream);
  if (implicit != cudaSuccess) return implicit;
  if (event.marker != nullptr) enqueue(stream, {[marker = event.marker] { marker->wait(); }, true});
  return cudaSuccess;
}

cudaError_t wait_for_external_event(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Event>& event) {
  const Locked locked(captures().lock);
  if (stream->capture == nullptr) return cudaErrorInvalidValue;
  if (stream->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  stream->capture->add_node(*stream, {}, event);
  return cudaSuccess;
}

std::shared_ptr<Marker> latest_marker(Event& event) {
  const Locked locked(captures().lock);
  return event.marker;
}

cudaError_t host_marker(Event& event, std::shared_ptr<Marker>* marker) {
  const Locked locked(captures().lock);
  if (event.capture != nullptr) {
    event.capture->invalid = true;
    return cudaErrorCapturedEvent;
  }
  *marker = event.marker;
  return cudaSuccess;
}

cudaError_t check_unsafe_call() {
  const Locked locked(captures().lock);
  if (thread_mode == cudaStreamCaptureModeRelaxed) return cudaSuccess;
  cudaError_t result = cudaSuccess;
  for (const std::shared_ptr<Capture>& capture : captures().active) {
    const bool own = capture->thread == std::this_thread::get_id() && capture->mode != cudaStreamCaptureModeRelaxed;
    const bool global = thread_mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
    if (own || global) result = invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  }
  return result;
}

cudaError_t check_host_wait(const Stream& stream) {
  {
    const Locked locked(captures().lock);
    if (stream.capture != nullptr) return invalidate(*stream.capture, cudaErrorStreamCaptureUnsupported);
    const cudaError_t implicit = check_default_stream(stream);
    if (implicit != cudaSuccess) return implicit;
  }
  return check_unsafe_call();
}

cudaError_t check_device_wait(int device) {
  {
    const Locked locked(captures().lock);
    for (const std::shared_ptr<Capture>& capture : captures().active) {
      for (const Capture::Member& member : capture->members) {
        if (member.stream->device() == device) return invalidate(*capture, cudaErrorStreamCaptureUnsupported);
      }
    }
  }
  return check_unsafe_call();
}

void leave_capture(const Stream& stream) {
  const Locked locked(captures().lock);
  if (stream.capture == nullptr) return;
  stream.capture->invalid = true;
  if (stream.capture->members[0].stream.get() == &stream) close(*std::shared_ptr<Capture>(stream.capture));
}

cudaStreamCaptureMode exchange_capture_mode(cudaStreamCaptureMode mode) { return std::exchange(thread_mode, mode); }

Handles<cudaEvent_t, Event>& events() {
  static Handles<cudaEvent_t, Event>& all = *new Handles<cudaEvent_t, Event>;
  return all;
}

}  // namespace cuda_emulator
