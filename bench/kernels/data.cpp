// SPDX-License-Identifier: Apache-2.0
#include "kernels/data.hpp"

#include <tokavg/tokavg.h>

#include <bit>
#include <cstring>
#include <new>

namespace tokavg_bench {
namespace {

constexpr std::size_t kPage = 4096;

std::uint16_t cut_to_bf16(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); }

// Good for what is drawn here: magnitudes below 2^-14 become 0, and there are none of 2^16.
std::uint16_t cut_to_f16(float value) {
  constexpr std::uint32_t kBiasChange = 127 - 15;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31;
  const std::uint32_t exponent = (bits >> 23) & 0xffU;
  const std::uint32_t digits = (bits >> 13) & 0x3ffU;
  const std::uint32_t magnitude = exponent > kBiasChange ? ((exponent - kBiasChange) << 10) | digits : 0;
  return static_cast<std::uint16_t>((sign << 15) | magnitude);
}

}  // namespace

std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

float Random::nearly_normal() {
  constexpr float kMean = 2.0F * 65535.0F;
  constexpr float kDeviation = 37837.0F;  // 2^16 sqrt(4 / 12)
  const std::uint64_t bits = next();
  const std::uint64_t sum = (bits & 0xffffU) + ((bits >> 16) & 0xffffU) + ((bits >> 32) & 0xffffU) + (bits >> 48);
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  const std::size_t whole_pages = (bytes + kPage - 1) / kPage * kPage;
  data_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, whole_pages)));
  if (!data_) {
    throw std::bad_alloc();
  }
  std::memset(data_.get(), 0, whole_pages);
}

const char* name_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32: return "f32";
    case Dtype::kBf16: return "bf16";
    case Dtype::kF16: break;
  }
  return "f16";
}

std::int32_t constant_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32: return TOKAVG_DTYPE_F32;
    case Dtype::kBf16: return TOKAVG_DTYPE_BF16;
    case Dtype::kF16: break;
  }
  return TOKAVG_DTYPE_F16;
}

std::size_t size_of(Dtype dtype) { return dtype == Dtype::kF32 ? sizeof(float) : sizeof(std::uint16_t); }

void store(float value, Dtype dtype, void* to) {
  if (dtype == Dtype::kF32) {
    std::memcpy(to, &value, sizeof value);
    return;
  }
  const std::uint16_t bits = dtype == Dtype::kBf16 ? cut_to_bf16(value) : cut_to_f16(value);
  std::memcpy(to, &bits, sizeof bits);
}

void fill_logits(const Buffer& buffer, Dtype dtype) {
  Random random(1);
  const std::size_t size = size_of(dtype);
  for (std::size_t at = 0; at + size <= buffer.bytes(); at += size) {
    store(random.nearly_normal(), dtype, buffer.as<std::byte>() + at);
  }
}

void fill_labels(const Buffer& buffer, std::int64_t classes) {
  Random random(2);
  auto* labels = buffer.as<std::int64_t>();
  for (std::size_t i = 0; i < buffer.bytes() / sizeof(std::int64_t); ++i) {
    labels[i] = random.below(8) == 0 ? -100 : random.below(classes);
  }
}

}  // namespace tokavg_bench
