// SPDX-License-Identifier: Apache-2.0
#include "c_api/arguments.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace tokavg {
namespace {

long long shown(std::int64_t value) { return static_cast<long long>(value); }

bool multiply(std::int64_t a, std::int64_t b, std::int64_t& product) { return !__builtin_mul_overflow(a, b, &product); }

// The distance in bytes from the first element to the furthest one on either side must fit, or an address would wrap.
void check_extent(FieldName field, ArrayView& view, const Shape& shape) {
  // The usual case in a few instructions: nothing is negative and no product of two reaches 2^52.
  const std::int64_t all = shape.rows | shape.cols | shape.depth | view.row_stride | view.col_stride;
  if (all >= 0 && all < (std::int64_t{1} << 26)) return;
  std::int64_t down = 0;
  std::int64_t across = 0;
  std::int64_t ahead = 0;
  std::int64_t behind = 0;
  std::int64_t bytes = 0;
  const bool fits =
      multiply(std::max<std::int64_t>(shape.rows - 1, 0), view.row_stride, down) &&
      multiply(std::max<std::int64_t>(shape.cols - 1, 0), view.col_stride, across) &&
      !__builtin_add_overflow(std::max<std::int64_t>(down, 0), std::max<std::int64_t>(across, 0), &ahead) &&
      !__builtin_add_overflow(std::min<std::int64_t>(down, 0), std::min<std::int64_t>(across, 0), &behind) &&
      !__builtin_add_overflow(ahead, shape.depth, &ahead) && multiply(ahead, size_of(view.dtype), bytes) &&
      multiply(behind, size_of(view.dtype), bytes);
  if (!fits) {
    fail(TOKAVG_ERR_ARGUMENT,
         "%s: rows %lld, cols %lld, row_stride %lld and col_stride %lld reach beyond 2^63 bytes; check "
         "the shape",
         field.text().c_str(), shown(shape.rows), shown(shape.cols), shown(view.row_stride), shown(view.col_stride));
  }
  // A stride that leads nowhere may be any number, and in bytes it would be too large for one.
  if (shape.rows <= 1) view.row_stride = 0;
  if (shape.cols <= 1) view.col_stride = 0;
}

}  // namespace

std::int64_t size_of(std::int32_t dtype) noexcept {
  switch (dtype) {
    case TOKAVG_DTYPE_I64:
    case TOKAVG_DTYPE_F64: return 8;
    case TOKAVG_DTYPE_I32:
    case TOKAVG_DTYPE_F32: return 4;
    case TOKAVG_DTYPE_BF16:
    case TOKAVG_DTYPE_F16: return 2;
    default: return 1;
  }
}

const char* dtype_name(std::int32_t dtype) noexcept {
  constexpr const char* kNames[] = {"unset", "I32", "I64", "U8", "F32", "F64", "BF16", "F16"};
  return dtype >= 0 && dtype <= TOKAVG_DTYPE_F16 ? kNames[dtype] : "unknown";
}

void check_shape(const char* what, std::int64_t rows, std::int64_t cols) {
  std::int64_t elements = 0;
  if (rows < 0 || cols < 0) {
    fail(TOKAVG_ERR_ARGUMENT, "%s has rows %lld and cols %lld; both must be >= 0", what, shown(rows), shown(cols));
  }
  if (!multiply(rows, cols, elements)) {
    fail(TOKAVG_ERR_ARGUMENT, "%s has rows %lld and cols %lld; their product must be below 2^63", what, shown(rows),
         shown(cols));
  }
}

std::int64_t rows_to_walk(std::int64_t rows, std::int64_t cols) noexcept { return cols == 0 ? 0 : rows; }

void check_term(const tokavg_config_t& config, FieldName field, std::int32_t term) {
  if (term < 0 || term >= config.terms) {
    fail(TOKAVG_ERR_ARGUMENT, "%s is %d; it must be from 0 to %d (config.terms is %d)", field.text().c_str(), term,
         config.terms - 1, config.terms);
  }
}

void check_kind(FieldName field, std::int32_t value, std::int32_t low, std::int32_t high, const char* constants) {
  if (value < low || value > high) {
    fail(TOKAVG_ERR_ARGUMENT, "%s is %d; it must be one of the %s constants (%d to %d)", field.text().c_str(), value,
         constants, low, high);
  }
}

void check_reserved(FieldName field, std::int64_t value) {
  if (value != 0)
    fail(TOKAVG_ERR_UNSUPPORTED, "%s is %lld; this version knows no use for it: zero it", field.text().c_str(),
         shown(value));
}

// What the driver refuses is told with the name of the argument.
template <typename Question>
auto ask_driver(FieldName field, Question&& question) {
  try {
    return question();
  } catch (const Error& error) {
    if (error.status() != TOKAVG_ERR_ARGUMENT) throw;
    fail(TOKAVG_ERR_ARGUMENT, "%s %s", field.text().c_str(), error.text().c_str());
  }
}

bool is_found_on_device(const Context& context, FieldName field, const void* data) {
  return ask_driver(field, [&] { return context.is_device_memory(data); });
}

bool is_on_device(const Context& context, FieldName field, const void* data, std::int32_t memory) {
  if (memory < TOKAVG_MEMORY_AUTO || memory > TOKAVG_MEMORY_CUDA) {
    fail(TOKAVG_ERR_ARGUMENT, "%s: memory is %d; it must be TOKAVG_MEMORY_AUTO, _HOST or _CUDA", field.text().c_str(),
         memory);
  }
  if (context.works_on_streams()) {
    return memory == TOKAVG_MEMORY_CUDA || (memory == TOKAVG_MEMORY_AUTO && is_found_on_device(context, field, data));
  }
  if (memory != TOKAVG_MEMORY_CUDA) return false;
  if (find_device(TOKAVG_DEVICE_CUDA) == nullptr) {
    fail(TOKAVG_ERR_NOT_BUILT,
         "%s means GPU memory, but this libtokavg was built without CUDA; build it with "
         "-DTOKAVG_CUDA=ON, or use host memory",
         field.text().c_str());
  }
  fail(TOKAVG_ERR_UNSUPPORTED,
       "%s means GPU memory, but this context works on the host; set config.device to "
       "TOKAVG_DEVICE_CUDA",
       field.text().c_str());
}

void check_device_pointer(const Context& context, FieldName field, const void* pointer, bool on_device) {
  if (pointer == nullptr) return;
  static_cast<void>(is_on_device(context, field, pointer, TOKAVG_MEMORY_CUDA));
  if (!on_device) {
    fail(TOKAVG_ERR_ARGUMENT, "%s is given, but the arrays of this call are host memory; use the factor on the host",
         field.text().c_str());
  }
  check_output(context, field, pointer, on_device);
}

void check_output(const Context& context, FieldName field, const void* pointer, bool on_device) {
  if (pointer != nullptr && on_device) ask_driver(field, [&] { context.check_device_reaches(pointer); });
}

void check_same_memory(FieldName first, bool on_device, FieldName field, const ArrayView& view) {
  if (!view || view.on_device == on_device) return;
  fail(TOKAVG_ERR_ARGUMENT, "%s is %s memory, but %s is %s memory; all arrays of a call lie in one",
       field.text().c_str(), view.on_device ? "GPU" : "host", first.text().c_str(), on_device ? "GPU" : "host");
}

ArrayView view_present_array(const Context& context, FieldName field, const tokavg_array_t& array, const Shape& shape,
                             std::initializer_list<std::int32_t> dtypes) {
  const bool on_device = is_on_device(context, field, array.data, array.memory);
  if (std::find(dtypes.begin(), dtypes.end(), array.dtype) == dtypes.end()) {
    std::string accepted;
    for (const std::int32_t dtype : dtypes)
      accepted += (accepted.empty() ? "TOKAVG_DTYPE_" : ", ") + std::string(dtype_name(dtype));
    fail(TOKAVG_ERR_ARGUMENT, "%s.dtype is %d (%s); it must be one of %s", field.text().c_str(), array.dtype,
         dtype_name(array.dtype), accepted.c_str());
  }
  // No type has more than 8 bytes, so most addresses need one look.
  const auto address = reinterpret_cast<std::uintptr_t>(array.data);
  if (address % 8 != 0 && address % static_cast<std::uintptr_t>(size_of(array.dtype)) != 0) {
    fail(TOKAVG_ERR_ARGUMENT, "%s.data is %p, which is not aligned to its type, %s of %lld bytes; check the address",
         field.text().c_str(), array.data, dtype_name(array.dtype), shown(size_of(array.dtype)));
  }
  ArrayView view;
  view.data = array.data;
  view.on_device = on_device;
  view.dtype = array.dtype;
  view.col_stride = array.col_stride != 0 ? array.col_stride : shape.depth;
  view.row_stride = array.row_stride;
  if (view.row_stride == 0 && !multiply(shape.cols, view.col_stride, view.row_stride)) {
    fail(TOKAVG_ERR_ARGUMENT, "%s: cols %lld times col_stride %lld is beyond 2^63; check the shape",
         field.text().c_str(), shown(shape.cols), shown(view.col_stride));
  }
  check_extent(field, view, shape);
  return view;
}

bool means_device(const Context& context, FieldName field, const tokavg_array_t& array,
                  std::initializer_list<const void*> others) {
  if (!context.works_on_streams() || array.memory == TOKAVG_MEMORY_HOST) return false;
  if (array.memory == TOKAVG_MEMORY_CUDA) return true;
  for (const void* other : others) {
    if (other != nullptr) return is_found_on_device(context, field, other);
  }
  return false;
}

LabelsView view_labels(const Context& context, const char* field, const tokavg_labels_t& labels) {
  const tokavg_config_t& config = context.config();
  check_term(config, {field, "term"}, labels.term);
  check_shape(field, labels.rows, labels.cols);
  if (labels.shift < 0) fail(TOKAVG_ERR_ARGUMENT, "%s.shift is %lld; it must be >= 0", field, shown(labels.shift));
  if (labels.label_base != 0 && labels.label_base != 1) {
    fail(TOKAVG_ERR_ARGUMENT, "%s.label_base is %d; it must be 0 or 1", field, labels.label_base);
  }
  if ((labels.flags & ~static_cast<std::uint32_t>(TOKAVG_LABELS_SAME_MICROBATCH)) != 0) {
    fail(TOKAVG_ERR_UNSUPPORTED, "%s.flags is 0x%x; this version knows only TOKAVG_LABELS_SAME_MICROBATCH", field,
         labels.flags);
  }
  if (labels.labels.data == nullptr && labels.rows != 0 && labels.cols != 0) {
    fail(TOKAVG_ERR_ARGUMENT, "%s.labels.data is NULL although rows is %lld and cols is %lld", field,
         shown(labels.rows), shown(labels.cols));
  }
  const Shape shape{labels.rows, labels.cols};
  // All fields at once: filling the struct with zeros first would take longer than counting a short row.
  LabelsView view = {
      .rows = rows_to_walk(labels.rows, labels.cols),
      .cols = labels.cols,
      .shift = labels.shift,
      .ignore_index = config.ignore_index,
      .label_base = labels.label_base,
      .weights_divide = config.divisor == TOKAVG_DIVISOR_WEIGHTS,
      .labels = view_array(context, {field, "labels"}, labels.labels, shape, {TOKAVG_DTYPE_I32, TOKAVG_DTYPE_I64}),
      .mask = view_array(context, {field, "mask"}, labels.mask, shape, {TOKAVG_DTYPE_U8}),
      .weights = view_array(context, {field, "weights"}, labels.weights, shape, {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64}),
  };
  if (view.labels) {
    check_same_memory({field, "labels"}, view.labels.on_device, {field, "mask"}, view.mask);
    check_same_memory({field, "labels"}, view.labels.on_device, {field, "weights"}, view.weights);
  }
  return view;
}

}  // namespace tokavg
