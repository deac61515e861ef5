// SPDX-License-Identifier: Apache-2.0
#include "calls/arguments.hpp"

#include <cmath>
#include <limits>

namespace fuzz {
namespace {

__extension__ using Wide = __int128;

constexpr Wide kMost = Wide{1} << 63;
constexpr Wide kMostBytes = 1 << 16;  // of one array

template <typename Value>
void put(std::byte* at, Value value) {
  std::memcpy(at, &value, sizeof value);
}

template <typename Value>
Value get(const void* base, Wide element) {
  Value value;
  std::memcpy(&value, static_cast<const std::byte*>(base) + static_cast<std::ptrdiff_t>(element * Wide{sizeof value}),
              sizeof value);
  return value;
}

}  // namespace

std::int64_t bytes_each(std::int32_t dtype) noexcept {
  static constexpr std::int64_t kBytes[] = {1, 4, 8, 1, 4, 8, 2, 2};
  return dtype >= 0 && dtype < 8 ? kBytes[dtype] : 1;
}

std::int64_t Arguments::length() {
  static constexpr std::int64_t kFar[] = {-1,        INT32_MAX, std::int64_t{1} << 31, std::int64_t{1} << 32,
                                          INT64_MIN, INT64_MAX, std::int64_t{1} << 62, 1000};
  return in_.one_in(40) ? in_.pick_or_any(kFar) : static_cast<std::int64_t>(in_.below(20));
}

std::int32_t Arguments::term(std::int32_t terms) {
  if (!in_.one_in(64)) return static_cast<std::int32_t>(in_.below(static_cast<std::size_t>(terms)));
  const auto term = in_.value<std::int32_t>();
  if (term < 0 || term >= terms) spoil();
  return term;
}

double Arguments::multiplier() {
  static constexpr double kValues[] = {0.0, 0.0, 1.0, 2.0, -1.0, 1e300, 5e-324, HUGE_VAL, -0.0};
  const double value = in_.pick_or_any(kValues);
  if (!std::isfinite(value)) spoil();
  return value;
}

const float* Arguments::device_pointer() {
  if (!in_.one_in(24)) return nullptr;
  spoil();
  return reinterpret_cast<const float*>(std::uintptr_t{64} << in_.below(32));
}

tokavg_array_t Arguments::array(const Shape& shape, std::initializer_list<std::int32_t> dtypes, Use use,
                                const Content& content, std::uint8_t missing_one_in) {
  tokavg_array_t array{};
  if (in_.one_in(missing_one_in)) return array;
  array.dtype = dtypes.begin()[in_.below(dtypes.size())];
  array.memory = in_.coin() ? TOKAVG_MEMORY_AUTO : TOKAVG_MEMORY_HOST;
  if (in_.one_in(48)) array.dtype = in_.value<std::int32_t>();
  if (in_.one_in(48)) array.memory = in_.value<std::int32_t>();
  static constexpr std::int64_t kStrides[] = {0, 1, 2, -1, 7, -7, 20, 400, INT64_MAX, INT64_MIN, std::int64_t{1} << 62};
  if (shape.strided && in_.one_in(10)) array.row_stride = in_.pick_or_any(kStrides);
  if (shape.strided && in_.one_in(10)) array.col_stride = in_.pick_or_any(kStrides);
  resolve(array, shape, use, content);
  if (array.memory < TOKAVG_MEMORY_AUTO || array.memory > TOKAVG_MEMORY_HOST) spoil();
  if (std::find(dtypes.begin(), dtypes.end(), array.dtype) == dtypes.end()) {
    spoil();
  } else if (reinterpret_cast<std::uintptr_t>(array.data) % static_cast<std::uintptr_t>(bytes_each(array.dtype)) != 0) {
    spoil();
  }
  return array;
}

// Gives the array memory from its first to its last element, wherever the strides lead.
void Arguments::resolve(tokavg_array_t& array, const Shape& shape, Use use, const Content& content) {
  const Wide each = bytes_each(array.dtype);
  const Wide col_stride = array.col_stride != 0 ? array.col_stride : shape.depth;
  const Wide row_stride = array.row_stride != 0 ? Wide{array.row_stride} : shape.cols * col_stride;
  bool beyond = row_stride >= kMost || row_stride < -kMost;
  Wide low = 0;
  Wide high = -1;  // no element at all
  if (!beyond && shape.rows > 0 && shape.cols > 0) {
    const Wide down = (Wide{shape.rows} - 1) * row_stride;
    const Wide across = (Wide{shape.cols} - 1) * col_stride;
    // Further than the limit is as good as any.
    low = std::max(std::min<Wide>(down, 0), -2 * kMost) + std::max(std::min<Wide>(across, 0), -2 * kMost);
    high = std::min(std::max<Wide>(down, 0), 2 * kMost) + std::min(std::max<Wide>(across, 0), 2 * kMost);
    high += std::max<std::int64_t>(shape.depth, 1) - 1;
  }
  beyond = beyond || (high + 1) * each >= kMost || low * each < -kMost;
  if (beyond || (high - low + 1) * each > kMostBytes) {
    // An address that would wrap must be noticed; anything else is just too large for a test.
    if (!beyond) array.dtype = 0;
    if (shape.rows > 0 && shape.cols > 0) spoil();
    low = 0;
    high = -1;
  }
  const auto count = static_cast<std::size_t>(high - low + 1);
  const std::size_t away = in_.one_in(64) ? 1 + in_.below(7) : 0;  // from the alignment
  const auto size = static_cast<std::size_t>(each);
  std::byte* block = memory_.block(count * size + away, use);
  fill(block + away, count, array.dtype, content);
  array.data = block + away + static_cast<std::ptrdiff_t>(-low * each);
}

void Arguments::fill(std::byte* data, std::size_t count, std::int32_t dtype, const Content& content) {
  const std::int64_t last = content.base + content.classes - 1;
  const std::int64_t labels[] = {content.base, last, content.ignored, content.base, last,      content.ignored,
                                 last,         last, last + 1,        -1,           INT32_MIN, INT64_MAX};
  static constexpr double kReals[] = {0, 1, 0.5, -2, 3, 0.125, 10, 1, NAN, HUGE_VAL, -HUGE_VAL, 0x1p22, 1e-40, -1e30};
  static constexpr std::uint16_t kHalves[] = {0,      0x3c00, 0x3f80, 0xbf00, 0x4000, 0x0001, 0x3f00,
                                              0xc100, 0x7e00, 0x7f80, 0xff80, 0x7c00, 0xfc00, 0x7fff};
  const bool wild = in_.one_in(8);
  std::uint32_t state = in_.value<std::uint32_t>();
  for (std::size_t i = 0; i < count; ++i, data += bytes_each(dtype)) {
    state = state * 1664525U + 1013904223U;
    const std::size_t pick = state >> 24;
    switch (dtype) {
      case TOKAVG_DTYPE_I32: put(data, static_cast<std::int32_t>(labels[pick % (wild ? 12 : 8)])); break;
      case TOKAVG_DTYPE_I64: put(data, labels[pick % (wild ? 12 : 8)]); break;
      case TOKAVG_DTYPE_U8: put(data, static_cast<std::uint8_t>(pick % 3 == 0 ? 0 : pick)); break;
      case TOKAVG_DTYPE_F32: put(data, static_cast<float>(kReals[pick % (wild ? 14 : 8)])); break;
      case TOKAVG_DTYPE_F64: put(data, kReals[pick % (wild ? 14 : 8)]); break;
      case TOKAVG_DTYPE_BF16:
      case TOKAVG_DTYPE_F16: put(data, kHalves[pick % (wild ? 14 : 8)]); break;
      default: return;
    }
  }
}

tokavg_labels_t Arguments::labels(const tokavg_config_t& config, std::int64_t rows, std::int64_t cols,
                                  std::int64_t classes) {
  tokavg_labels_t labels{};
  static constexpr std::uint32_t kFlags[] = {0, 0, 0, TOKAVG_LABELS_SAME_MICROBATCH};
  labels.flags = in_.one_in(64) ? in_.value<std::uint32_t>() : in_.pick(kFlags);
  labels.term = term(config.terms);
  labels.label_base = in_.one_in(64) ? in_.value<std::int32_t>() : static_cast<std::int32_t>(in_.below(2));
  labels.shift = in_.coin() ? static_cast<std::int64_t>(in_.below(3)) : length();
  labels.rows = rows;
  labels.cols = cols;
  if (labels.flags > 1 || labels.label_base < 0 || labels.label_base > 1 || labels.shift < 0) spoil();
  const Wide elements = Wide{rows} * cols;
  if (rows < 0 || cols < 0 || elements >= kMost) spoil();
  const Content content{config.ignore_index, labels.label_base == 1 ? 1 : 0, classes};
  const Shape shape{rows, cols};
  labels.labels = array(shape, {TOKAVG_DTYPE_I32, TOKAVG_DTYPE_I64}, Use::kInput, content, 64);
  if (labels.labels.data == nullptr && elements != 0) spoil();
  labels.mask = array(shape, {TOKAVG_DTYPE_U8}, Use::kInput, content, 2);
  if (!in_.one_in(3)) return labels;
  labels.weights = array(shape, {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64}, Use::kInput, content, 2);
  return labels;
}

std::byte* Arguments::bytes_of(const void* value, std::uint32_t own, std::uint32_t size, std::uint32_t smallest,
                               Use use) {
  constexpr std::uint32_t kLargest = 65536;
  // Beyond the largest nothing else may be looked at.
  const std::size_t length = size > kLargest ? sizeof size : std::max<std::size_t>(size, sizeof size);
  std::byte* data = memory_.block(length, use);
  std::memset(data, 0, length);
  std::memcpy(data, value, std::min<std::size_t>(length, own));
  if (size < smallest || size > kLargest) spoil();
  if (length > own && in_.one_in(4)) {
    data[own + in_.value<std::uint16_t>() % (length - own)] = std::byte{1};
    if (use == Use::kInput) spoil();
  }
  return data;
}

std::int64_t count_scored(const tokavg_labels_t& labels, std::int64_t ignore_index) {
  const auto at = [&](const tokavg_array_t& array, std::int64_t r, std::int64_t c) {
    const Wide col_stride = array.col_stride != 0 ? array.col_stride : 1;
    const Wide row_stride = array.row_stride != 0 ? Wide{array.row_stride} : labels.cols * col_stride;
    return r * row_stride + c * col_stride;
  };
  if (labels.rows == 0 || labels.cols == 0) return 0;
  std::int64_t scored = 0;
  for (std::int64_t r = 0; r < labels.rows; ++r) {
    for (std::int64_t c = labels.shift; c < labels.cols; ++c) {
      const Wide element = at(labels.labels, r, c);
      const std::int64_t label = labels.labels.dtype == TOKAVG_DTYPE_I32
                                     ? get<std::int32_t>(labels.labels.data, element)
                                     : get<std::int64_t>(labels.labels.data, element);
      const bool masked =
          labels.mask.data != nullptr && get<std::uint8_t>(labels.mask.data, at(labels.mask, r, c)) == 0;
      if (label != ignore_index && !masked) ++scored;
    }
  }
  return scored;
}

}  // namespace fuzz
