// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device/cuda/cross_entropy_result.hpp"

// The gradient of a chunk of a row, written by a block. Each element depends on its logit and the row's sums alone, so
// that here packets may be cut where addresses suit them.
namespace tokavg::cuda {

template <typename Stored>
__device__ inline void fill(Stored* to, std::int64_t n, Stored value) {
  Elements<Stored> elements;
  for (Stored& element : elements.value) element = value;
  const auto packet = same_bits<Packet>(elements);
  const Stretch<Stored> stretch(to, n);
  for (std::int64_t i = threadIdx.x; i < stretch.packets; i += kRowThreads) {
    store_streaming(packet, to + stretch.head + i * kPerPacket<Stored>);
  }
  const std::int64_t thread = threadIdx.x;
  if (thread < stretch.head) to[thread] = value;
  if (thread < stretch.tail) to[stretch.tail_begin() + thread] = value;
}

template <typename Stored, typename CapKind>
class ChunkGradient {
 public:
  __device__ ChunkGradient(const Chunk& chunk, const CapKind& cap, const RowEnd& end)
      : chunk_(chunk),
        cap_(cap),
        base_(end.base),
        exp_(end.exponent),
        factor_(end.factor),
        minus_flat_(end.minus_flat),
        of_label_(from_double<Stored>(end.of_label)) {}

  // kInFlight: packets that are loaded at once. `logits` may be `gradient`.
  template <int kInFlight>
  __device__ void write(const Stored* logits, Stored* gradient) const {
    const Stretch<Stored> stretch(gradient, chunk_.columns);
    if (!suits_packets(logits + stretch.head) && stretch.packets > 0) {
      for (int i = static_cast<int>(threadIdx.x); i < chunk_.columns; i += kRowThreads) gradient[i] = at(logits[i], i);
      return;
    }
    write_packets<kInFlight>(logits, gradient, static_cast<int>(stretch.head), static_cast<int>(stretch.packets));
    const int i = static_cast<int>(threadIdx.x);
    const int k = static_cast<int>(stretch.tail_begin()) + i;
    if (i < stretch.head) gradient[i] = at(logits[i], i);
    if (i < stretch.tail) gradient[k] = at(logits[k], k);
  }

 private:
  static constexpr int kColumns = kPerPacket<Stored>;

  template <int kInFlight>
  __device__ void write_packets(const Stored* logits, Stored* gradient, int head, int packets) const {
    for (int first = static_cast<int>(threadIdx.x); first < packets; first += kInFlight * kRowThreads) {
      Packet packet[kInFlight];
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const int i = first + k * static_cast<int>(kRowThreads);
        if (i < packets) packet[k] = load_packet(logits + head + i * kColumns);
      }
#pragma unroll
      for (int k = 0; k < kInFlight; ++k) {
        const int i = first + k * static_cast<int>(kRowThreads);
        if (i < packets) store_streaming(of_packet(packet[k], head + i * kColumns), gradient + head + i * kColumns);
      }
    }
  }

  __device__ Packet of_packet(const Packet& packet, int column) const {
    float values[kColumns];
    unpack<Stored>(packet, values);
#pragma unroll
    for (float& value : values) value = slope(value);
    const Packet slopes = pack<Stored>(values);
    const int to_label = chunk_.label - column;
    if (to_label < 0 || to_label >= kColumns) return slopes;
    auto elements = same_bits<Elements<Stored>>(slopes);
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      if (i == to_label) elements.value[i] = of_label_;
    }
    return same_bits<Packet>(elements);
  }

  __device__ Stored at(Stored logit, int column) const {
    return column == chunk_.label ? of_label_ : from_float<Stored>(slope(to_float(logit)));
  }

  __device__ float slope(float logit) const {
    const float x = __fsub_rn(cap_.apply(logit), base_);
    const float e = kQuick<Stored, CapKind> ? quick_exp2(__fmul_rn(x, kLog2E)) : exp_.or_zero(x);
    return cap_.chain(__fmaf_rn(e, factor_, minus_flat_), logit);
  }

  const Chunk& chunk_;
  const CapKind& cap_;
  float base_;
  ScaledExp exp_;
  float factor_;
  float minus_flat_;
  Stored of_label_;
};

// nullptr: none is wanted.
template <typename Stored>
__device__ inline Stored* gradient_at(const CrossEntropy& ce, const Row& row, const Chunk& chunk) {
  return ce.gradient.data != nullptr ? row_at<Stored>(ce.gradient, row) + chunk.begin : nullptr;
}

// Of a scored row.
template <int kInFlight, typename Stored, typename CapKind>
__device__ inline void write_gradient(const Chunk& chunk, const CapKind& cap, const Row& row, const RowEnd& end,
                                      const Stored* logits, Stored* gradient) {
  if (end.filled) {
    fill(gradient, chunk.columns, row.scale == 0 ? from_float<Stored>(0.0F) : quiet_nan<Stored>());
  } else {
    ChunkGradient<Stored, CapKind>(chunk, cap, end).template write<kInFlight>(logits, gradient);
  }
}

}  // namespace tokavg::cuda
