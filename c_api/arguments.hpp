// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "core/context.hpp"
#include "core/requests.hpp"
#include "tokavg/types.h"

// Checks and translates what callers hand in: everything that can be told from the arguments alone.
namespace tokavg {

// "labels" and "labels.weights": put together only when a text needs it.
struct FieldName {
  const char* outer;
  const char* inner = nullptr;
  [[nodiscard]] std::string text() const { return inner != nullptr ? std::string(outer) + "." + inner : outer; }
};

// A shape with strides: how many elements lie from one (r, c) to the next when they are contiguous.
struct Shape {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t depth = 1;  // contiguous elements at each (r, c): the vocabulary of logits
};

void check_shape(const char* what, std::int64_t rows, std::int64_t cols);
// Rows without columns may be any number, and are not worth a walk.
std::int64_t rows_to_walk(std::int64_t rows, std::int64_t cols) noexcept;
void check_term(const tokavg_config_t& config, FieldName field, std::int32_t term);
void check_kind(FieldName field, std::int32_t value, std::int32_t low, std::int32_t high, const char* constants);
void check_reserved(FieldName field, std::int64_t value);
// Whether an array lies in GPU memory: as `memory` says or, with AUTO, the driver. Throws where this context has no use
// for such.
bool is_on_device(const Context& context, FieldName field, const void* data, std::int32_t memory);
// An argument in GPU memory, that only goes with arrays there.
void check_device_pointer(const Context& context, FieldName field, const void* pointer, bool on_device);
// Where a result of one value goes: GPU memory, or pinned, where the arrays are on a GPU.
void check_output(const Context& context, FieldName field, const void* pointer, bool on_device);
// All arrays of a call lie in the memory of the first.
void check_same_memory(FieldName first, bool on_device, FieldName field, const ArrayView& view);

ArrayView view_present_array(const Context& context, FieldName field, const tokavg_array_t& array, const Shape& shape,
                             std::initializer_list<std::int32_t> dtypes);

// An optional array (data NULL: none), its dtype one of those given, strides resolved.
inline ArrayView view_array(const Context& context, FieldName field, const tokavg_array_t& array, const Shape& shape,
                            std::initializer_list<std::int32_t> dtypes) {
  return array.data != nullptr ? view_present_array(context, field, array, shape, dtypes) : ArrayView{};
}

// Whether a call without elements, whose array may have no address, is one on a GPU: what it says, or where the first
// of these lies.
bool means_device(const Context& context, FieldName field, const tokavg_array_t& array,
                  std::initializer_list<const void*> others);

LabelsView view_labels(const Context& context, const char* field, const tokavg_labels_t& labels);

std::int64_t size_of(std::int32_t dtype) noexcept;
const char* dtype_name(std::int32_t dtype) noexcept;

}  // namespace tokavg
