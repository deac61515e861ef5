// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "device/stream_device.hpp"

// What the caller asks for, after every check that needs only the arguments: no NULL, no unset field, strides resolved.
namespace tokavg {

struct CountRequest {
  std::int32_t term = 0;
  bool same_microbatch = false;
  LabelsView labels;
  Stream stream = nullptr;
};

struct ReduceRequest {
  bool done = false;
  bool has_step_id = false;
  std::int64_t step_id = 0;
  double accumulation_divisor = 0;  // 0: the config's
  Stream stream = nullptr;
};

// Where to put what a loss call gives back.
using LossOutputs = StreamOutputs;

struct LossRequest {
  std::int32_t kind = 0;
  std::int32_t term = 0;
  ArrayView losses;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  bool has_labels = false;
  LabelsView labels;
  std::int64_t tokens = 0;  // SUM, MEAN; -1: those counted and not yet recorded
  LossOutputs out;
  Stream stream = nullptr;
};

struct CrossEntropyRequest {
  std::int32_t term = 0;
  CrossEntropy ce;  // its factor is the core's to fill in
  LossOutputs out;
  Stream stream = nullptr;
};

using ScaleItem = StreamScaleItem;

struct ScaleRequest {
  std::int32_t term = 0;
  std::int32_t kind = 0;
  double factor = 1;
  const float* factor_device = nullptr;
  bool on_device = false;
  std::vector<ScaleItem> items;
  Stream stream = nullptr;
};

}  // namespace tokavg
