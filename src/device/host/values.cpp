// SPDX-License-Identifier: Apache-2.0
#include "device/host/values.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "device/host/half.hpp"
#include "tokavg/types.h"

namespace tokavg::host {
namespace {

[[noreturn]] void not_a_float(std::int32_t dtype) {
  fail(TOKAVG_ERR_INTERNAL, "dtype %d is not a floating-point type", dtype);
}

void load_half(const void* from, HalfFormat format, std::span<double> values) {
  const auto* bits = static_cast<const std::uint16_t*>(from);
  std::transform(bits, bits + values.size(), values.begin(), [=](std::uint16_t b) { return from_half(b, format); });
}

void store_half(std::span<const double> values, HalfFormat format, void* to) {
  std::transform(values.begin(), values.end(), static_cast<std::uint16_t*>(to),
                 [=](double value) { return to_half(value, format); });
}

}  // namespace

std::size_t size_of(std::int32_t dtype) {
  switch (dtype) {
    case TOKAVG_DTYPE_F32: return sizeof(float);
    case TOKAVG_DTYPE_F64: return sizeof(double);
    case TOKAVG_DTYPE_BF16:
    case TOKAVG_DTYPE_F16: return sizeof(std::uint16_t);
    default: not_a_float(dtype);
  }
}

void load(const void* from, std::int32_t dtype, std::span<double> values) {
  switch (dtype) {
    case TOKAVG_DTYPE_F32: std::copy_n(static_cast<const float*>(from), values.size(), values.begin()); break;
    case TOKAVG_DTYPE_F64: std::copy_n(static_cast<const double*>(from), values.size(), values.begin()); break;
    case TOKAVG_DTYPE_BF16: load_half(from, kBf16, values); break;
    case TOKAVG_DTYPE_F16: load_half(from, kF16, values); break;
    default: not_a_float(dtype);
  }
}

void store(std::span<const double> values, std::int32_t dtype, void* to) {
  switch (dtype) {
    case TOKAVG_DTYPE_F32:
      std::transform(values.begin(), values.end(), static_cast<float*>(to),
                     [](double value) { return static_cast<float>(value); });
      break;
    case TOKAVG_DTYPE_F64: std::copy(values.begin(), values.end(), static_cast<double*>(to)); break;
    case TOKAVG_DTYPE_BF16: store_half(values, kBf16, to); break;
    case TOKAVG_DTYPE_F16: store_half(values, kF16, to); break;
    default: not_a_float(dtype);
  }
}

void store_zeros(std::int64_t count, std::int32_t dtype, void* to) {
  if (count > 0) std::memset(to, 0, static_cast<std::size_t>(count) * size_of(dtype));
}

}  // namespace tokavg::host
