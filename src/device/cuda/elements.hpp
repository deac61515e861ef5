// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/cuda/gpu.hpp"

// float, bfloat16 and half as they lie in memory, alone and 16 bytes at a time.
namespace tokavg::cuda {

using Bf16 = __nv_bfloat16;
using F16 = __half;

// What one load or store moves at most.
struct alignas(16) Packet {
  unsigned word[4];
};

template <typename Stored>
inline constexpr int kPerPacket = static_cast<int>(sizeof(Packet) / sizeof(Stored));

__device__ inline bool suits_packets(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % sizeof(Packet) == 0;
}

// n elements from an address on: a few up to the next multiple of 16 bytes, packets, and a few again. For what does not
// depend on the order of elements.
template <typename Stored>
struct Stretch {
  std::int64_t head;
  std::int64_t packets;
  std::int64_t tail;

  __device__ Stretch(const Stored* at, std::int64_t n) {
    constexpr int kElements = kPerPacket<Stored>;
    const auto misfit = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % sizeof(Packet) / sizeof(Stored));
    const std::int64_t to_packet = (kElements - misfit) % kElements;
    head = n < to_packet ? n : to_packet;
    packets = (n - head) / kElements;
    tail = n - head - packets * kElements;
  }
  __device__ std::int64_t tail_begin() const { return head + packets * kPerPacket<Stored>; }
};

__device__ inline Packet load_packet(const void* from) { return *static_cast<const Packet*>(from); }

// For memory that is not soon used again.
__device__ inline Packet load_streaming(const void* from) {
  const uint4 v = __ldcs(static_cast<const uint4*>(from));
  return {{v.x, v.y, v.z, v.w}};
}
__device__ inline void store_streaming(const Packet& packet, void* to) {
  __stcs(static_cast<uint4*>(to), make_uint4(packet.word[0], packet.word[1], packet.word[2], packet.word[3]));
}

template <typename To, typename From>
__device__ inline To same_bits(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(static_cast<void*>(&to), static_cast<const void*>(&from), sizeof to);
  return to;
}

// A packet, value by value.
template <typename Stored>
struct Elements {
  Stored value[kPerPacket<Stored>];
};

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Bf16 value) { return __bfloat162float(value); }
__device__ inline float to_float(F16 value) { return __half2float(value); }

// Two neighbours of 16 bits.
__device__ inline void unpack(unsigned word, Bf16 /*type*/, float& first, float& second) {
  first = __uint_as_float(word << 16);
  second = __uint_as_float(word & 0xffff0000U);
}
__device__ inline void unpack(unsigned word, F16 /*type*/, float& first, float& second) {
  const float2 both = __half22float2(same_bits<__half2>(word));
  first = both.x;
  second = both.y;
}
__device__ inline unsigned pack(float first, float second, Bf16 /*type*/) {
  return same_bits<unsigned>(__floats2bfloat162_rn(first, second));
}
__device__ inline unsigned pack(float first, float second, F16 /*type*/) {
  return same_bits<unsigned>(__floats2half2_rn(first, second));
}

template <typename Stored>
__device__ inline void unpack(const Packet& packet, float (&values)[kPerPacket<Stored>]) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(Stored) == sizeof(float)) {
      values[i] = __uint_as_float(packet.word[i]);
    } else {
      unpack(packet.word[i], Stored(), values[2 * i], values[2 * i + 1]);
    }
  }
}

// Each value is rounded once, to nearest even.
template <typename Stored>
__device__ inline Packet pack(const float (&values)[kPerPacket<Stored>]) {
  Packet packet;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(Stored) == sizeof(float)) {
      packet.word[i] = __float_as_uint(values[i]);
    } else {
      packet.word[i] = pack(values[2 * i], values[2 * i + 1], Stored());
    }
  }
  return packet;
}

template <typename Stored>
__device__ inline Stored from_float(float value) {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return __float2bfloat16_rn(value);
  } else if constexpr (std::is_same_v<Stored, F16>) {
    return __float2half_rn(value);
  } else {
    return value;
  }
}

// A float whose rounding to a 16-bit type gives the same as that of `value`: 13 digits, the last of which says whether
// anything was cut off ("round to odd").
__device__ inline float cut_for_halves(double value) {
  constexpr std::uint64_t kRest = (std::uint64_t{1} << 40) - 1;
  auto bits = same_bits<std::uint64_t>(value);
  if ((bits & kRest) != 0) bits |= kRest + 1;
  return static_cast<float>(same_bits<double>(bits & ~kRest));
}

// Rounded once.
template <typename Stored>
__device__ inline Stored from_double(double value) {
  if constexpr (sizeof(Stored) == sizeof(double)) {
    return value;
  } else if constexpr (sizeof(Stored) == sizeof(float)) {
    return static_cast<float>(value);
  } else {
    return from_float<Stored>(cut_for_halves(value));
  }
}

// The same bits on every processor.
template <typename Stored>
__device__ inline Stored quiet_nan() {
  if constexpr (std::is_same_v<Stored, Bf16>) {
    return same_bits<Bf16>(std::uint16_t{0x7fc0});
  } else if constexpr (std::is_same_v<Stored, F16>) {
    return same_bits<F16>(std::uint16_t{0x7e00});
  } else {
    return __uint_as_float(0x7fc00000U);
  }
}

}  // namespace tokavg::cuda
