// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/fixed_point.hpp"
#include "tokavg/types.h"

// Where labels, logits and gradients live. One implementation a folder: host/, cuda/.
//
// Everything that arrives here has been checked (c_api/): dtypes are legal, strides are resolved, no shape overflows.
// What depends on the values (a bad label, a bad weight) is found here and thrown as Error before anything is written.
namespace tokavg {

// Element (r, c) is at data + r * row_stride + c * col_stride, in elements of dtype. No array: data is nullptr.
struct ArrayView {
  void* data = nullptr;
  std::int32_t dtype = 0;
  std::int64_t row_stride = 0;
  std::int64_t col_stride = 0;
  bool on_device = false;  // GPU memory
  explicit operator bool() const noexcept { return data != nullptr; }
};

struct LabelsView {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t shift = 0;
  std::int64_t ignore_index = -100;
  std::int32_t label_base = 0;
  bool weights_divide = false;  // a negative weight is then bad
  ArrayView labels;             // I32, I64
  ArrayView mask;               // U8 or none
  ArrayView weights;            // F32, F64 or none
};

// What one call to count adds to a term.
struct Counted {
  std::int64_t tokens = 0;           // n
  std::int64_t weighted_tokens = 0;  // how many of them had a weight given
  FixedSum weights;                  // the sum of those weights
};

// What one call adds to the losses of a term.
struct Recorded {
  std::int64_t tokens = 0;
  std::int64_t nonfinite = 0;
  FixedSum sum;  // of v*w*l, without the non-finite ones
};

struct TokenLosses {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  ArrayView losses;                    // F32, F64
  const LabelsView* labels = nullptr;  // same shape; nullptr: every element counts with weight 1
};

struct CrossEntropy {
  ArrayView logits;  // F32, BF16, F16; `vocab` contiguous values at each (row, column)
  std::int64_t vocab = 0;
  LabelsView labels;
  double label_smoothing = 0;
  double z_loss = 0;
  double softcap = 0;  // 0: none
  double factor = 1;   // f * loss_scale; where it is 0 because nothing is divided, gradients are zeros, also over NaN
  ArrayView gradient;  // the logits' type and shape, or the logits themselves, or none
  ArrayView losses;    // F32 or none
  ArrayView lse;       // F32 or none
  ArrayView argmax;    // I32 or none
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  [[nodiscard]] virtual Counted count(const LabelsView& labels) = 0;
  [[nodiscard]] virtual Recorded token_losses(const TokenLosses& losses) = 0;
  // One value of F32 or F64 in the array's memory, as double.
  [[nodiscard]] virtual double read(const ArrayView& value) = 0;
  [[nodiscard]] virtual Recorded cross_entropy(const CrossEntropy& ce) = 0;
  // Multiplies `count` contiguous elements in place; factor 0 writes zeros, also over NaN.
  virtual void scale(const ArrayView& array, std::int64_t count, double factor) = 0;
  // Writes one value of dtype F32 or F64.
  virtual void write(void* out, std::int32_t dtype, double value) = 0;
  // One JSON object.
  [[nodiscard]] virtual std::string describe() const = 0;
};

class StreamDevice;  // device/stream_device.hpp

struct DeviceOptions {
  std::int32_t device_index = -1;
  std::int32_t host_threads = 1;
  std::int32_t terms = 1;
  std::int32_t in_flight = 4;
  std::string simd;  // TOKAVG_SIMD: which of the host's kernels; all give the same bits
};

// How a folder of this directory makes itself known: it defines `const DeviceFactory kFactory` in its namespace, and
// the CMake call that adds the folder puts it into the list. Nothing else names it.
struct DeviceFactory {
  const char* name;
  std::int32_t kind;                                              // TOKAVG_DEVICE_HOST, TOKAVG_DEVICE_CUDA
  std::unique_ptr<Device> (*make)(const DeviceOptions& options);  // nullptr: works on streams
  std::unique_ptr<StreamDevice> (*make_streams)(const DeviceOptions& options);  // nullptr: works on the host
  bool (*usable)(const DeviceOptions& options) noexcept;  // on this machine, now; what TOKAVG_DEVICE_AUTO asks
  std::string (*describe)();  // one JSON object; nullptr: not in this build, and make says which option builds it
};

// The devices of this build (generated/registry.cpp).
std::span<const DeviceFactory* const> device_factories() noexcept;
// nullptr where this build does not have it.
const DeviceFactory* find_device(std::int32_t kind) noexcept;
// "host,cuda": what this build has.
std::string device_names();

}  // namespace tokavg
