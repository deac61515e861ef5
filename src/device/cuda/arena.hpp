// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/cuda/resources.hpp"
#include "device/cuda/state.hpp"
#include "device/message_box.hpp"

// What lies where in the two blocks of memory of a context.
namespace tokavg::cuda {

struct ArenaShape {
  MessageLayout layout;
  std::int32_t slots = 0;
  std::int32_t boxes = 0;

  // Device memory: the state, the slots, and the words of a message for each box (for sums in the order of a stream).
  [[nodiscard]] std::size_t slots_at() const { return round_up(sizeof(StreamState)); }
  [[nodiscard]] std::size_t words_at() const {
    return slots_at() + round_up(sizeof(StepSlot) * static_cast<std::size_t>(slots));
  }
  [[nodiscard]] std::size_t device_bytes() const {
    return words_at() + static_cast<std::size_t>(boxes) * layout.words() * sizeof(std::uint64_t);
  }
  // Mapped memory: the control words, the boxes.
  [[nodiscard]] std::size_t box_at(std::int32_t index) const {
    const std::size_t bytes = round_up(sizeof(MessageHeader) + 3 * layout.words() * sizeof(std::uint64_t));
    return round_up(sizeof(StreamControl)) + static_cast<std::size_t>(index) * bytes;
  }
  [[nodiscard]] std::size_t mapped_bytes() const { return box_at(boxes); }

 private:
  static std::size_t round_up(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
};

class Arena {
 public:
  Arena(const ArenaShape& shape, const Memory& device, const Memory& mapped)
      : shape_(shape),
        device_(bytes(device.on_device())),
        mapped_(bytes(mapped.on_device())),
        host_(bytes(mapped.on_host())) {}

  // As the device sees them.
  [[nodiscard]] StreamState* state() const { return reinterpret_cast<StreamState*>(device_); }
  [[nodiscard]] StepSlot* step(std::int32_t slot) const {
    return reinterpret_cast<StepSlot*>(device_ + shape_.slots_at()) + slot;
  }
  [[nodiscard]] StreamControl* control() const { return reinterpret_cast<StreamControl*>(mapped_); }
  [[nodiscard]] Words box(std::int32_t index, bool words_in_device_memory) const {
    std::byte* base = mapped_ + shape_.box_at(index);
    const std::size_t n = shape_.layout.words();
    std::uint64_t* words = words_of(base);
    auto* in_device =
        reinterpret_cast<std::uint64_t*>(device_ + shape_.words_at()) + static_cast<std::size_t>(index) * n;
    return {reinterpret_cast<MessageHeader*>(base), words, words_in_device_memory ? in_device : words + n,
            words + 2 * n};
  }

  // As the host does.
  [[nodiscard]] StreamControl& control_on_host() const { return *reinterpret_cast<StreamControl*>(host_); }
  [[nodiscard]] MessageBox box_on_host(std::int32_t index) const {
    std::byte* base = host_ + shape_.box_at(index);
    const std::size_t n = shape_.layout.words();
    std::uint64_t* words = words_of(base);
    return {reinterpret_cast<MessageHeader*>(base), {words, n}, {words + n, n}, {words + 2 * n, n}};
  }

 private:
  static std::byte* bytes(void* memory) { return static_cast<std::byte*>(memory); }
  static std::uint64_t* words_of(std::byte* box) {
    return reinterpret_cast<std::uint64_t*>(box + sizeof(MessageHeader));
  }

  const ArenaShape shape_;
  std::byte* const device_;
  std::byte* const mapped_;
  std::byte* const host_;
};

}  // namespace tokavg::cuda
