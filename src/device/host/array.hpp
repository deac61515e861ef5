// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "device/device.hpp"

// Strided arrays of the caller's. The dtype is looked at once, when an accessor is made, and not for every element.
namespace tokavg::host {

template <typename Value>
class Input {
 public:
  using Load = Value (*)(const std::byte* element);

  Input() = default;  // no array
  Input(const ArrayView& view, std::int64_t element_size, Load load) noexcept
      : data_(static_cast<const std::byte*>(view.data)),
        row_bytes_(view.row_stride * element_size),
        col_bytes_(view.col_stride * element_size),
        load_(load) {}

  explicit operator bool() const noexcept { return data_ != nullptr; }
  Value operator()(std::int64_t r, std::int64_t c) const { return load_(data_ + r * row_bytes_ + c * col_bytes_); }

 private:
  const std::byte* data_ = nullptr;
  std::int64_t row_bytes_ = 0;
  std::int64_t col_bytes_ = 0;
  Load load_ = nullptr;
};

template <typename Value, typename Stored>
Input<Value> stored_as(const ArrayView& view) noexcept {
  return {view, sizeof(Stored), [](const std::byte* element) {
            Stored stored;
            std::memcpy(&stored, element, sizeof stored);
            return static_cast<Value>(stored);
          }};
}

// Labels and masks.
inline Input<std::int64_t> integers(const ArrayView& view) {
  if (!view) return {};
  switch (view.dtype) {
    case TOKAVG_DTYPE_I32: return stored_as<std::int64_t, std::int32_t>(view);
    case TOKAVG_DTYPE_I64: return stored_as<std::int64_t, std::int64_t>(view);
    case TOKAVG_DTYPE_U8: return stored_as<std::int64_t, std::uint8_t>(view);
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is not an integer type", view.dtype);
  }
}

// Weights and losses.
inline Input<double> reals(const ArrayView& view) {
  if (!view) return {};
  switch (view.dtype) {
    case TOKAVG_DTYPE_F32: return stored_as<double, float>(view);
    case TOKAVG_DTYPE_F64: return stored_as<double, double>(view);
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is neither F32 nor F64", view.dtype);
  }
}

// An optional result: without an array, nothing is written.
template <typename Stored>
class Output {
 public:
  explicit Output(const ArrayView& view) noexcept : view_(view) {}

  void set(std::int64_t r, std::int64_t c, Stored value) const noexcept {
    if (view_) static_cast<Stored*>(view_.data)[r * view_.row_stride + c * view_.col_stride] = value;
  }

 private:
  ArrayView view_;
};

}  // namespace tokavg::host
