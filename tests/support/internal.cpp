// SPDX-License-Identifier: Apache-2.0
#include "support/internal.h"

#include <cstdio>

#include "base/error.hpp"
#include "base/fixed_point.hpp"
#include "device/device.hpp"
#include "device/host/half.hpp"
#include "device/host/kernels.hpp"
#include "device/host/reference/reference.hpp"

namespace tokavg::host {
extern const DeviceFactory kFactory;
}

namespace {

using namespace tokavg;

std::string kernels_in_use = "auto";
std::int32_t threads_in_use = 1;

bool use_reference() { return kernels_in_use == "reference"; }

std::unique_ptr<Device> make_device() {
  DeviceOptions options;
  options.host_threads = threads_in_use;
  if (!use_reference()) options.simd = kernels_in_use;
  return host::kFactory.make(options);
}

Recorded cross_entropy_with(const CrossEntropy& call, bool reference) {
  if (!reference) return make_device()->cross_entropy(call);
  host::Workers workers(threads_in_use);
  host::RowScratch scratch;
  return host::cross_entropy(call, host::reference::row_kernels(call.logits.dtype), workers, scratch);
}

internal_sum_t plain(const FixedSum& sum) { return {sum.units(), sum.value(), sum.too_large() ? 1 : 0}; }

ArrayView view_of(const tokavg_array_t& array) { return {array.data, array.dtype, array.row_stride, array.col_stride}; }

LabelsView view_of(const tokavg_labels_t& labels, int64_t ignore_index, int weights_divide) {
  LabelsView view;
  view.rows = labels.rows;
  view.cols = labels.cols;
  view.shift = labels.shift;
  view.ignore_index = ignore_index;
  view.label_base = labels.label_base;
  view.weights_divide = weights_divide != 0;
  view.labels = view_of(labels.labels);
  view.mask = view_of(labels.mask);
  view.weights = view_of(labels.weights);
  return view;
}

template <typename Call>
internal_outcome_t outcome_of(Call call) noexcept {
  internal_outcome_t outcome{};
  try {
    call(outcome);
  } catch (const Error& error) {
    outcome = {};
    outcome.status = error.status();
    std::snprintf(outcome.text, sizeof outcome.text, "%s", error.text().c_str());
  } catch (...) {
    outcome = {};
    outcome.status = TOKAVG_ERR_INTERNAL;
  }
  return outcome;
}

void put(const Recorded& recorded, internal_outcome_t& outcome) {
  outcome.tokens = recorded.tokens;
  outcome.nonfinite = recorded.nonfinite;
  outcome.sum = plain(recorded.sum);
}

host::HalfFormat format_of(int32_t dtype) { return dtype == TOKAVG_DTYPE_BF16 ? host::kBf16 : host::kF16; }

FixedSum sum_of(internal_int128_t units) {
  FixedSum sum;
  sum.add_units(units);
  return sum;
}

}  // namespace

internal_sum_t internal_sum_doubles(const double* values, int64_t count) {
  FixedSum sum;
  for (int64_t i = 0; i < count; ++i) sum.add(values[i]);
  return plain(sum);
}

internal_sum_t internal_sum_units(const internal_int128_t* parts, int64_t count) {
  FixedSum sum;
  for (int64_t i = 0; i < count; ++i) sum.add_units(parts[i]);
  return plain(sum);
}

internal_sum_t internal_sum_nested(const internal_int128_t* parts, int64_t count, int mark) {
  FixedSum others;
  for (int64_t i = 1; i < count; ++i) others.add_units(parts[i]);
  if (mark != 0) others.mark_too_large();
  FixedSum sum = sum_of(parts[0]);
  sum.add(others);
  return plain(sum);
}

void internal_to_limbs(internal_int128_t units, uint64_t limbs_out[4]) {
  const Limbs limbs = to_limbs(sum_of(units));
  for (std::size_t i = 0; i < limbs.size(); ++i) limbs_out[i] = limbs[i];
}

void internal_marked_to_limbs(internal_int128_t units, uint64_t limbs_out[4]) {
  FixedSum sum = sum_of(units);
  sum.mark_too_large();
  const Limbs limbs = to_limbs(sum);
  for (std::size_t i = 0; i < limbs.size(); ++i) limbs_out[i] = limbs[i];
}

internal_sum_t internal_from_limbs(const uint64_t limbs[4], uint64_t tokens) {
  return plain(from_limbs({limbs[0], limbs[1], limbs[2], limbs[3]}, tokens));
}

double internal_from_half(uint16_t bits, int32_t dtype) { return host::from_half(bits, format_of(dtype)); }

uint16_t internal_to_half(double value, int32_t dtype) { return host::to_half(value, format_of(dtype)); }

internal_outcome_t internal_count(const tokavg_labels_t* labels, int64_t ignore_index, int weights_divide) {
  return outcome_of([&](internal_outcome_t& outcome) {
    const LabelsView view = view_of(*labels, ignore_index, weights_divide);
    const Counted counted = use_reference() ? host::reference::count(view) : make_device()->count(view);
    outcome.tokens = counted.tokens;
    outcome.weighted_tokens = counted.weighted_tokens;
    outcome.sum = plain(counted.weights);
  });
}

internal_outcome_t internal_token_losses(const tokavg_array_t* losses, int64_t rows, int64_t cols,
                                         const tokavg_labels_t* labels, int64_t ignore_index, int weights_divide) {
  return outcome_of([&](internal_outcome_t& outcome) {
    LabelsView view;
    if (labels != nullptr) view = view_of(*labels, ignore_index, weights_divide);
    const TokenLosses call{rows, cols, view_of(*losses), labels != nullptr ? &view : nullptr};
    put(use_reference() ? host::reference::token_losses(call) : make_device()->token_losses(call), outcome);
  });
}

internal_outcome_t internal_cross_entropy(const tokavg_cross_entropy_t* ce, int64_t ignore_index, double factor) {
  return outcome_of([&](internal_outcome_t& outcome) {
    CrossEntropy call;
    call.logits = view_of(ce->logits);
    call.vocab = ce->vocab;
    call.labels = view_of(*ce->labels, ignore_index, 0);
    call.label_smoothing = ce->label_smoothing;
    call.z_loss = ce->z_loss;
    call.softcap = ce->logit_softcap;
    call.factor = factor;
    call.gradient = view_of(ce->gradient_out);
    call.losses = view_of(ce->losses_out);
    call.lse = view_of(ce->lse_out);
    call.argmax = view_of(ce->argmax_out);
    // Its own tests are about the definition; those of the vector kernels name them.
    put(cross_entropy_with(call, use_reference() || kernels_in_use == "auto"), outcome);
  });
}

tokavg_status_t internal_scale(void* data, int32_t dtype, int64_t count, double factor) {
  return outcome_of([&](internal_outcome_t&) {
           const ArrayView array{data, dtype, 0, 1};
           use_reference() ? host::reference::scale(array, count, factor) : make_device()->scale(array, count, factor);
         })
      .status;
}

tokavg_status_t internal_use_kernels(const char* name, int32_t threads) {
  return outcome_of([&](internal_outcome_t&) {
           if (std::string(name) != "reference") static_cast<void>(host::choose_simd(name));
           kernels_in_use = name;
           threads_in_use = threads;
         })
      .status;
}

double internal_read(const void* data, int32_t dtype) {
  return make_device()->read({const_cast<void*>(data), dtype, 0, 0});
}

void internal_write(void* out, int32_t dtype, double value) { make_device()->write(out, dtype, value); }

void internal_describe(char* device_out, char* factory_out, size_t capacity) {
  std::snprintf(device_out, capacity, "%s", make_device()->describe().c_str());
  std::snprintf(factory_out, capacity, "%s", host::kFactory.describe().c_str());
}
