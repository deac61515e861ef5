// SPDX-License-Identifier: Apache-2.0
#include "contract/arrays.hpp"

namespace contract {

template <typename Value>
tokavg_array_t Arrays::array_of(const std::vector<Value>& values, std::int32_t dtype) {
  tokavg_array_t array{};
  array.data = memory_.put(values);
  array.dtype = dtype;
  return array;
}

Arrays::Arrays(const Call& call, Memory& memory) : call_(call), memory_(memory) {
  labels_.struct_size = static_cast<std::uint32_t>(sizeof labels_);
  labels_.flags = call.same ? static_cast<std::uint32_t>(TOKAVG_LABELS_SAME_MICROBATCH) : 0U;
  labels_.term = call.term;
  labels_.shift = call.shift;
  labels_.rows = call.rows;
  labels_.cols = call.cols;
  if (call.label_dtype == TOKAVG_DTYPE_I32) {
    for (const std::int64_t label : call.labels) short_labels_.push_back(static_cast<std::int32_t>(label));
    labels_.labels = array_of(short_labels_, TOKAVG_DTYPE_I32);
  } else {
    labels_.labels = array_of(call.labels, TOKAVG_DTYPE_I64);
  }
  if (call.mask) labels_.mask = array_of(*call.mask, TOKAVG_DTYPE_U8);
  if (call.weights) labels_.weights = floats(*call.weights, call.weights_dtype, float_weights_);
  if (call.losses) losses_ = floats(*call.losses, call.loss_dtype, float_losses_);
}

tokavg_array_t Arrays::floats(const std::vector<double>& values, std::int32_t dtype, std::vector<float>& as_float) {
  if (dtype == TOKAVG_DTYPE_F64) return array_of(values, dtype);
  for (const double value : values) as_float.push_back(static_cast<float>(value));
  return array_of(as_float, dtype);
}

tokavg_loss_t Arrays::loss() const {
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
  loss.term = call_.term;
  loss.rows = call_.rows;
  loss.cols = call_.cols;
  loss.losses = losses_;
  loss.labels = &labels_;
  return loss;
}

}  // namespace contract
