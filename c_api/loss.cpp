// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/struct_copy.hpp"
#include "c_api/arguments.hpp"
#include "c_api/guard.hpp"

using namespace tokavg;

namespace {

Blame blame_of(tokavg_ticket_t ticket) { return ticket == TOKAVG_OPEN ? Blame::kOpenStep : Blame::kClosedStep; }

// A multiplier: finite, 0 meaning 1.
double multiplier(const char* field, double value) {
  if (!std::isfinite(value)) fail(TOKAVG_ERR_ARGUMENT, "%s is %g; it must be finite (0 means 1)", field, value);
  return value == 0 ? 1.0 : value;
}

void read_loss_labels(const Context& context, const tokavg_loss_t& given, LossRequest& request) {
  if (given.kind != TOKAVG_LOSS_TOKEN_LOSSES) {
    fail(TOKAVG_ERR_ARGUMENT,
         "loss.labels must be NULL for TOKAVG_LOSS_SUM and TOKAVG_LOSS_MEAN: one value has no labels; say how many "
         "tokens "
         "it holds in loss.tokens");
  }
  const tokavg_labels_t labels = read_struct("loss.labels", given.labels);
  request.has_labels = true;
  request.labels = view_labels(context, "loss.labels", labels);
  if (labels.term != given.term || labels.rows != given.rows || labels.cols != given.cols) {
    fail(TOKAVG_ERR_ARGUMENT,
         "loss has term %d, rows %lld, cols %lld but loss.labels has term %d, rows %lld, cols %lld; they must be equal",
         given.term, static_cast<long long>(given.rows), static_cast<long long>(given.cols), labels.term,
         static_cast<long long>(labels.rows), static_cast<long long>(labels.cols));
  }
  if (request.losses) {
    check_same_memory({"loss", "losses"}, request.losses.on_device, {"loss.labels", "labels"}, request.labels.labels);
  }
}

LossRequest read_loss(const Context& context, const tokavg_loss_t* loss) {
  const tokavg_config_t& config = context.config();
  const tokavg_loss_t given = read_struct("loss", loss);
  LossRequest request;
  check_kind({"loss.kind"}, given.kind, TOKAVG_LOSS_TOKEN_LOSSES, TOKAVG_LOSS_MEAN, "TOKAVG_LOSS_");
  check_term(config, {"loss.term"}, given.term);
  check_reserved({"loss.reserved"}, given.reserved);
  if (given.kind == TOKAVG_LOSS_MEAN && config.divisor == TOKAVG_DIVISOR_WEIGHTS) {
    fail(TOKAVG_ERR_ARGUMENT,
         "loss.kind is TOKAVG_LOSS_MEAN, but weights are the divisor: a mean does not say over which weights it was "
         "taken; "
         "pass the sum (TOKAVG_LOSS_SUM)");
  }
  request.kind = given.kind;
  request.term = given.term;
  const bool per_token = given.kind == TOKAVG_LOSS_TOKEN_LOSSES;
  request.rows = per_token ? given.rows : 1;
  request.cols = per_token ? given.cols : 1;
  check_shape("loss", request.rows, request.cols);
  request.rows = rows_to_walk(request.rows, request.cols);
  request.tokens = per_token ? 0 : given.tokens;
  if (request.tokens < -1) {
    fail(TOKAVG_ERR_ARGUMENT, "loss.tokens is %lld; it must be >= 0, or -1 for those counted here and not yet recorded",
         static_cast<long long>(request.tokens));
  }
  const bool reads = request.rows != 0 && request.cols != 0 && (per_token || request.tokens != 0);
  if (reads && given.losses.data == nullptr)
    fail(TOKAVG_ERR_ARGUMENT, "loss.losses.data is NULL; there is nothing to record");
  request.losses = view_array(context, {"loss", "losses"}, given.losses, {request.rows, request.cols},
                              {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64});
  if (!request.losses) {
    request.losses.on_device = means_device(context, {"loss.sum_out or loss.backward_out"}, given.losses,
                                            {given.sum_out, given.backward_out, given.loss_scale_device});
  }
  // An empty microbatch may have no address, but what comes back has a type.
  check_device_pointer(context, {"loss.loss_scale_device"}, given.loss_scale_device, request.losses.on_device);
  check_output(context, {"loss.sum_out"}, given.sum_out, request.losses.on_device);
  check_output(context, {"loss.backward_out"}, given.backward_out, request.losses.on_device);
  request.out = {given.losses.dtype, given.backward_out, given.sum_out, multiplier("loss.loss_scale", given.loss_scale),
                 given.loss_scale_device};
  if (request.out.backward != nullptr && given.losses.dtype != TOKAVG_DTYPE_F32 &&
      given.losses.dtype != TOKAVG_DTYPE_F64) {
    fail(TOKAVG_ERR_ARGUMENT, "loss.losses.dtype is %d (%s), so the type of loss.backward_out is not known; set it",
         given.losses.dtype, dtype_name(given.losses.dtype));
  }
  if (given.labels != nullptr) read_loss_labels(context, given, request);
  return request;
}

// A coefficient within [0, most].
double coefficient(const char* field, double value, double most) {
  if (!(value >= 0 && value <= most) || std::isinf(value)) {
    fail(TOKAVG_ERR_ARGUMENT, "%s is %g; it must be finite and from 0 to %g", field, value, most);
  }
  return value;
}

void view_outputs(const Context& context, const tokavg_cross_entropy_t& given, CrossEntropy& ce) {
  const Shape plain{ce.labels.rows, ce.labels.cols};
  const Shape logits{ce.labels.rows, ce.labels.cols, given.vocab};
  ce.gradient = view_array(context, {"ce", "gradient_out"}, given.gradient_out, logits,
                           {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16});
  ce.losses = view_array(context, {"ce", "losses_out"}, given.losses_out, plain, {TOKAVG_DTYPE_F32});
  ce.lse = view_array(context, {"ce", "lse_out"}, given.lse_out, plain, {TOKAVG_DTYPE_F32});
  ce.argmax = view_array(context, {"ce", "argmax_out"}, given.argmax_out, plain, {TOKAVG_DTYPE_I32});
  const bool on_device = ce.logits.on_device;
  if (ce.logits) {
    check_same_memory({"ce", "logits"}, on_device, {"ce.labels", "labels"}, ce.labels.labels);
    check_same_memory({"ce", "logits"}, on_device, {"ce", "gradient_out"}, ce.gradient);
    check_same_memory({"ce", "logits"}, on_device, {"ce", "losses_out"}, ce.losses);
    check_same_memory({"ce", "logits"}, on_device, {"ce", "lse_out"}, ce.lse);
    check_same_memory({"ce", "logits"}, on_device, {"ce", "argmax_out"}, ce.argmax);
  }
  if (!ce.gradient) return;
  if (ce.gradient.dtype != ce.logits.dtype) {
    fail(TOKAVG_ERR_ARGUMENT, "ce.gradient_out.dtype is %s; it must be that of the logits, %s",
         dtype_name(ce.gradient.dtype), dtype_name(ce.logits.dtype));
  }
  const bool same_strides =
      ce.gradient.row_stride == ce.logits.row_stride && ce.gradient.col_stride == ce.logits.col_stride;
  if (ce.gradient.data == ce.logits.data && !same_strides) {
    fail(TOKAVG_ERR_ARGUMENT,
         "ce.gradient_out is the logits themselves with other strides; give it the logits' strides");
  }
}

CrossEntropyRequest read_cross_entropy(const Context& context, const tokavg_cross_entropy_t* ce) {
  const tokavg_cross_entropy_t given = read_struct("ce", ce);
  CrossEntropyRequest request;
  check_reserved({"ce.reserved"}, given.reserved);
  const tokavg_labels_t labels = read_struct("ce.labels", given.labels);
  request.term = labels.term;
  request.ce.labels = view_labels(context, "ce.labels", labels);
  if (given.vocab < 1 || given.vocab > INT32_MAX) {
    fail(TOKAVG_ERR_ARGUMENT, "ce.vocab is %lld; it must be from 1 to 2^31 - 1", static_cast<long long>(given.vocab));
  }
  request.ce.vocab = given.vocab;
  if (given.logits.data == nullptr && labels.rows != 0 && labels.cols != 0) {
    fail(TOKAVG_ERR_ARGUMENT, "ce.logits.data is NULL although there are labels");
  }
  request.ce.logits = view_array(context, {"ce", "logits"}, given.logits, {labels.rows, labels.cols, given.vocab},
                                 {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16});
  if (!request.ce.logits) {
    request.ce.logits.on_device = means_device(context, {"ce.sum_out or ce.backward_out"}, given.logits,
                                               {given.sum_out, given.backward_out, given.loss_scale_device});
  }
  request.ce.label_smoothing = coefficient("ce.label_smoothing", given.label_smoothing, 1.0);
  request.ce.z_loss = coefficient("ce.z_loss", given.z_loss, 1e300);
  request.ce.softcap = coefficient("ce.logit_softcap", given.logit_softcap, 1e300);
  view_outputs(context, given, request.ce);
  check_device_pointer(context, {"ce.loss_scale_device"}, given.loss_scale_device, request.ce.logits.on_device);
  check_output(context, {"ce.sum_out"}, given.sum_out, request.ce.logits.on_device);
  check_output(context, {"ce.backward_out"}, given.backward_out, request.ce.logits.on_device);
  request.out = {TOKAVG_DTYPE_F32, given.backward_out, given.sum_out, multiplier("ce.loss_scale", given.loss_scale),
                 given.loss_scale_device};
  return request;
}

ScaleRequest read_scale(const Context& context, const tokavg_scale_t* scale) {
  const tokavg_scale_t given = read_struct("scale", scale);
  ScaleRequest request;
  check_term(context.config(), {"scale.term"}, given.term);
  check_kind({"scale.kind"}, given.kind, TOKAVG_FACTOR_SCALE, TOKAVG_FACTOR_MICROBATCH, "TOKAVG_FACTOR_");
  request.term = given.term;
  request.kind = given.kind;
  request.factor = multiplier("scale.factor", given.factor);
  if (given.n_items < 0 || given.n_items > INT32_MAX) {
    fail(TOKAVG_ERR_ARGUMENT, "scale.n_items is %lld; it must be from 0 to 2^31 - 1",
         static_cast<long long>(given.n_items));
  }
  if (given.items == nullptr && given.n_items != 0) {
    fail(TOKAVG_ERR_ARGUMENT, "scale.items is NULL although scale.n_items is %lld; give as many items as you say",
         static_cast<long long>(given.n_items));
  }
  if (given.n_items != 0 && (given.item_size < kSize10<tokavg_scale_item_t> || given.item_size > kLargestStruct)) {
    fail(TOKAVG_ERR_ARGUMENT, "scale.item_size is %u; set it to sizeof(tokavg_scale_item_t), %zu", given.item_size,
         sizeof(tokavg_scale_item_t));
  }
  request.items.reserve(static_cast<std::size_t>(given.n_items));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given.items);
  for (int64_t i = 0; i < given.n_items; ++i, bytes += given.item_size) {
    const std::string name = format("scale.items[%lld]", static_cast<long long>(i));
    tokavg_scale_item_t item;
    copy_item_in(name.c_str(), bytes, given.item_size, &item, sizeof item);
    if (item.count < 0)
      fail(TOKAVG_ERR_ARGUMENT, "%s.count is %lld; it must be >= 0", name.c_str(), static_cast<long long>(item.count));
    if (item.data == nullptr && item.count != 0) fail(TOKAVG_ERR_ARGUMENT, "%s.data is NULL", name.c_str());
    const tokavg_array_t array{item.data, item.dtype, item.memory, 0, 0};
    const ArrayView view = view_array(context, {name.c_str()}, array, {1, item.count},
                                      {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16});
    if (item.count == 0) continue;
    if (request.items.empty()) request.on_device = view.on_device;
    check_same_memory({"scale.items[0]"}, request.on_device, {name.c_str()}, view);
    request.items.push_back({view, item.count});
  }
  if (request.items.empty()) request.on_device = context.works_on_streams();  // where nothing is to be waited for
  check_device_pointer(context, {"scale.factor_device"}, given.factor_device,
                       request.on_device || request.items.empty());
  request.factor_device = given.factor_device;
  return request;
}

}  // namespace

tokavg_status_t tokavg_loss(tokavg_context_t* ctx, tokavg_ticket_t ticket, const tokavg_loss_t* loss,
                            tokavg_stream_t stream) noexcept {
  return guard(ctx, blame_of(ticket), [&](Context& context) {
    context.check_usable();
    LossRequest request = read_loss(context, loss);
    request.stream = stream;
    context.loss(ticket, request);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_cross_entropy(tokavg_context_t* ctx, tokavg_ticket_t ticket, const tokavg_cross_entropy_t* ce,
                                     tokavg_stream_t stream) noexcept {
  return guard(ctx, blame_of(ticket), [&](Context& context) {
    context.check_usable();
    CrossEntropyRequest request = read_cross_entropy(context, ce);
    request.stream = stream;
    context.cross_entropy(ticket, request);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_scale(tokavg_context_t* ctx, tokavg_ticket_t ticket, const tokavg_scale_t* scale,
                             tokavg_stream_t stream) noexcept {
  return guard(ctx, blame_of(ticket), [&](Context& context) {
    context.check_usable();
    ScaleRequest request = read_scale(context, scale);
    request.stream = stream;
    context.scale(ticket, request);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_release(tokavg_context_t* ctx, tokavg_ticket_t ticket) noexcept {
  return guard(ctx, Blame::kNothing, [&](Context& context) {
    context.release(ticket);
    return TOKAVG_OK;
  });
}
