// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/message_words.hpp"
#include "device/device.hpp"
#include "device/message_box.hpp"

// A device whose work is enqueued on streams: calls return at once, counts and losses are added up in its memory, and
// messages are made, and factors read from them, without the host. One implementation: cuda/.
//
// Calls of one context run in the order in which they are made, whatever their streams. None of them waits.
namespace tokavg {

using Stream = void*;  // a cudaStream_t

// Where what a call finds is added: the open step, or a closed one.
inline constexpr std::int32_t kOpenSlot = -1;

// What a loss call gives back, in device memory; nullptr: nothing.
struct StreamOutputs {
  std::int32_t backward_dtype = 0;
  void* backward = nullptr;  // S * factor * loss_scale * *loss_scale_device
  double* sum = nullptr;     // S
  double loss_scale = 1;
  const float* loss_scale_device = nullptr;
};

// A loss that is one value.
struct StreamValue {
  ArrayView value;
  bool is_mean = false;
  std::int64_t tokens = 0;         // -1: those counted and not yet recorded
  std::uint64_t host_counted = 0;  // counted and recorded by the host, which the device does not know
  std::uint64_t host_recorded = 0;
};

struct StreamScaleItem {
  ArrayView array;
  std::int64_t count = 0;
};

// What all messages of a context have in common; known when the ranks have agreed.
struct StreamRule {
  FactorRule factors;
  std::uint64_t config_hash = 0;
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  bool holds_labels = true;  // not asks_only
  std::int32_t copies = 1;
  std::int32_t copy_index = 0;
  std::int64_t timeout_ms = 0;  // of a stream that waits
};

// One message.
struct StreamMessage {
  Roll roll;               // its sequence is the device's to fill in
  bool roll_known = true;  // false: this rank failed, or its options were wrong, and says nothing
  std::int32_t slot = 0;   // kind reduce: of the step being closed
  std::int32_t box = 0;    // its host_part has been written
};

// Sums words in device memory in the order of a stream: core's view of Transport::stream_sums(). Empty: the host sums
// what it finds in the boxes (core/bridge.hpp).
using EnqueueSums = void (*)(void* user, std::uint64_t* words, std::size_t n_words, Stream stream);

class StreamDevice {
 public:
  StreamDevice() = default;
  StreamDevice(const StreamDevice&) = delete;
  StreamDevice& operator=(const StreamDevice&) = delete;
  // Never blocks: what streams still use is freed later.
  virtual ~StreamDevice() = default;

  virtual void agree(const StreamRule& rule) = 0;
  // All messages are summed this way from now on, on `side`: a stream of the library's, which outlives this.
  virtual void sum_with(EnqueueSums enqueue, void* user, Stream side) = 0;

  [[nodiscard]] virtual bool owns(const void* pointer) const = 0;
  // Throws ARGUMENT where kernels cannot use this memory: of the host, and not pinned.
  virtual void check_reach(const void* pointer) const = 0;
  // Is this stream being captured into a graph? Throws STATE where the capture has been invalidated.
  [[nodiscard]] virtual bool capturing(Stream stream) = 0;

  // Throws DEVICE where the device has failed meanwhile, so that nothing will come of what was enqueued. Does not wait.
  virtual void check_alive() = 0;

  // Throws STATE where the open step holds work of another capture than the one that `stream` is in (or not in).
  virtual void check_open(Stream stream) = 0;

  // The open step. A microbatch may be dropped until the next one begins, with the losses recorded on the open step.
  virtual void count(const LabelsView& labels, std::int32_t term, bool begins_microbatch, Stream stream) = 0;
  virtual void begin_microbatch() = 0;  // without labels of the device
  virtual void drop_microbatch() = 0;

  // Where the factor of a slot is used the stream first waits for it.
  virtual void token_losses(const TokenLosses& losses, std::int32_t term, std::int32_t slot, const StreamOutputs& out,
                            Stream stream) = 0;
  virtual void value(const StreamValue& value, std::int32_t term, std::int32_t slot, const StreamOutputs& out,
                     Stream stream) = 0;
  virtual void cross_entropy(const CrossEntropy& ce, std::int32_t term, std::int32_t slot, const StreamOutputs& out,
                             Stream stream) = 0;
  virtual void scale(std::span<const StreamScaleItem> items, std::int32_t term, std::int32_t slot, std::int32_t kind,
                     double factor, const float* factor_device, Stream stream) = 0;
  virtual const float* factor(std::int32_t term, std::int32_t slot, std::int32_t kind, Stream stream) = 0;

  // Makes a message of what was added up and sends it off; kind reduce closes the open step.
  virtual void send(const StreamMessage& message, Stream stream) = 0;
  // The library's own stream, ordered after all earlier calls: for messages that no stream of the caller's asks for.
  [[nodiscard]] virtual Stream own_stream() = 0;

  // Slots, and boxes: first one for each eager slot, then those of messages that close no step, then those of captured
  // steps.
  [[nodiscard]] virtual std::int32_t eager_slots() const = 0;
  [[nodiscard]] virtual std::int32_t eager_boxes() const = 0;
  [[nodiscard]] virtual std::int32_t captured_steps() const = 0;  // how many there may be at a time
  [[nodiscard]] virtual MessageBox box(std::int32_t index) = 0;
  [[nodiscard]] virtual StreamControl& control() = 0;

  // One JSON object.
  [[nodiscard]] virtual std::string describe() const = 0;
};

}  // namespace tokavg
