// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/nccl_reduction.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>

namespace cuda_emulator {
namespace {

// Calls `body` with a value of the type.
template <typename Body>
bool with_type(ncclDataType_t datatype, Body body) {
  switch (datatype) {
    case ncclInt8: body(std::int8_t{}); return true;
    case ncclUint8: body(std::uint8_t{}); return true;
    case ncclInt32: body(std::int32_t{}); return true;
    case ncclUint32: body(std::uint32_t{}); return true;
    case ncclInt64: body(std::int64_t{}); return true;
    case ncclUint64: body(std::uint64_t{}); return true;
    case ncclFloat16: body(__half{}); return true;
    case ncclBfloat16: body(__nv_bfloat16{}); return true;
    case ncclFloat32: body(float{}); return true;
    case ncclFloat64: body(double{}); return true;
    default: return false;
  }
}

// What a type is computed in; integers wrap, which signed ones may not do in C++.
template <typename Value>
struct Wide {
  using Type = std::conditional_t<std::is_integral_v<Value>, std::uint64_t, Value>;
};
template <>
struct Wide<__half> {
  using Type = float;
};
template <>
struct Wide<__nv_bfloat16> {
  using Type = float;
};

template <typename Value>
auto wide(Value value) {
  return static_cast<typename Wide<Value>::Type>(value);
}

template <typename Value>
Value combine(Value a, Value b, ncclRedOp_t reduction) {
  switch (reduction) {
    case ncclProd: return static_cast<Value>(wide(a) * wide(b));
    case ncclMax: return a < b ? b : a;
    case ncclMin: return b < a ? b : a;
    default: return static_cast<Value>(wide(a) + wide(b));
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t datatype) {
  std::size_t size = 0;
  with_type(datatype, [&](auto value) { size = sizeof value; });
  return size;
}

const char* name_of(ncclDataType_t datatype) {
  const char* const names[] = {"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
                               "ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"};
  return datatype >= 0 && datatype < 10 ? names[datatype] : "unknown type";
}

const char* name_of_reduction(int reduction) {
  const char* const names[] = {"ncclSum", "ncclProd", "ncclMax", "ncclMin", "ncclAvg"};
  return reduction >= 0 && reduction < 5 ? names[reduction] : "pre-mul-sum";
}

void reduce_into(void* into, const void* from, std::size_t count, ncclDataType_t datatype, ncclRedOp_t reduction) {
  with_type(datatype, [&](auto zero) {
    using Value = decltype(zero);
    auto* sums = static_cast<Value*>(into);
    const auto* values = static_cast<const Value*>(from);
    for (std::size_t i = 0; i < count; ++i) sums[i] = combine(sums[i], values[i], reduction);
  });
}

void multiply(void* values, const void* scalar, std::size_t count, ncclDataType_t datatype) {
  with_type(datatype, [&](auto zero) {
    using Value = decltype(zero);
    auto* products = static_cast<Value*>(values);
    const Value factor = *static_cast<const Value*>(scalar);
    for (std::size_t i = 0; i < count; ++i) products[i] = combine(products[i], factor, ncclProd);
  });
}

}  // namespace cuda_emulator
