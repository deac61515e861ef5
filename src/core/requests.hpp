// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.hpp"

// What the caller asks for, after every check that needs only the arguments: no NULL, no unset field, strides resolved.
namespace tokavg {

struct CountRequest {
  std::int32_t term = 0;
  bool same_microbatch = false;
  LabelsView labels;
};

struct ReduceRequest {
  bool done = false;
  bool has_step_id = false;
  std::int64_t step_id = 0;
  double accumulation_divisor = 0;  // 0: the config's
};

// Where to put what a loss call gives back; nullptr: nowhere.
struct LossOutputs {
  double loss_scale = 1;
  std::int32_t backward_dtype = 0;
  void* backward = nullptr;  // S * f * loss_scale
  double* sum = nullptr;     // S
};

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
};

struct CrossEntropyRequest {
  std::int32_t term = 0;
  CrossEntropy ce;  // its factor is the core's to fill in
  LossOutputs out;
};

struct ScaleItem {
  ArrayView array;
  std::int64_t count = 0;
};

struct ScaleRequest {
  std::int32_t term = 0;
  std::int32_t kind = 0;
  double factor = 1;
  std::vector<ScaleItem> items;
};

}  // namespace tokavg
