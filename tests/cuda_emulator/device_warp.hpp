// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

// Operations of a warp. All lanes of `mask` must call the same one with the same mask; none of them but __syncwarp
// orders memory.
namespace cuda_emulator {

enum class WarpOperation { kSync, kShuffle, kBallot, kAdd, kMax, kMin, kMaxSigned, kMinSigned };

// Waits for all lanes of `mask`, gives back what the operation makes of their values. `source`: a shuffle's lane.
std::uint64_t exchange(WarpOperation operation, unsigned mask, std::uint64_t value, unsigned source = 0);
unsigned lane();
unsigned active_lanes();

template <typename Value>
Value shuffle(unsigned mask, Value value, unsigned source) {
  static_assert(std::is_arithmetic_v<Value> && sizeof(Value) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = exchange(WarpOperation::kShuffle, mask, bits, source);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Lanes of a segment of `width` do not see those of the next; a lane outside gives one's own value back.
inline unsigned segment(int width) { return lane() & ~static_cast<unsigned>(width - 1); }

}  // namespace cuda_emulator

template <typename Value>
Value __shfl_sync(unsigned mask, Value value, int source, int width = 32) {
  const unsigned within = static_cast<unsigned>(source) & static_cast<unsigned>(width - 1);
  return cuda_emulator::shuffle(mask, value, cuda_emulator::segment(width) + within);
}

template <typename Value>
Value __shfl_up_sync(unsigned mask, Value value, unsigned delta, int width = 32) {
  const unsigned mine = cuda_emulator::lane();
  const bool inside = mine - cuda_emulator::segment(width) >= delta;
  return cuda_emulator::shuffle(mask, value, inside ? mine - delta : mine);
}

template <typename Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned delta, int width = 32) {
  const unsigned mine = cuda_emulator::lane();
  const bool inside = mine - cuda_emulator::segment(width) + delta < static_cast<unsigned>(width);
  return cuda_emulator::shuffle(mask, value, inside ? mine + delta : mine);
}

template <typename Value>
Value __shfl_xor_sync(unsigned mask, Value value, int lanes, int width = 32) {
  const unsigned mine = cuda_emulator::lane();
  const unsigned source = mine ^ static_cast<unsigned>(lanes);
  const bool inside = source < cuda_emulator::segment(width) + static_cast<unsigned>(width);
  return cuda_emulator::shuffle(mask, value, inside ? source : mine);
}

inline void __syncwarp(unsigned mask = 0xffffffffU) {
  cuda_emulator::exchange(cuda_emulator::WarpOperation::kSync, mask, 0);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const std::uint64_t yes = predicate != 0 ? 1 : 0;
  return static_cast<unsigned>(cuda_emulator::exchange(cuda_emulator::WarpOperation::kBallot, mask, yes));
}

inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0 ? 1 : 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask ? 1 : 0; }
inline unsigned __activemask() { return cuda_emulator::active_lanes(); }

inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(cuda_emulator::exchange(cuda_emulator::WarpOperation::kAdd, mask, value));
}

inline int __reduce_add_sync(unsigned mask, int value) {
  return static_cast<int>(__reduce_add_sync(mask, static_cast<unsigned>(value)));
}

inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(cuda_emulator::exchange(cuda_emulator::WarpOperation::kMax, mask, value));
}

inline int __reduce_max_sync(unsigned mask, int value) {
  const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return static_cast<int>(cuda_emulator::exchange(cuda_emulator::WarpOperation::kMaxSigned, mask, bits));
}

inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return static_cast<unsigned>(cuda_emulator::exchange(cuda_emulator::WarpOperation::kMin, mask, value));
}

inline int __reduce_min_sync(unsigned mask, int value) {
  const auto bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  return static_cast<int>(cuda_emulator::exchange(cuda_emulator::WarpOperation::kMinSigned, mask, bits));
}
