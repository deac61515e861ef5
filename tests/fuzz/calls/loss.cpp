// SPDX-License-Identifier: Apache-2.0
#include "calls/calls.hpp"

namespace fuzz {
namespace {

const tokavg_config_t& config_of(const Handle& handle) {
  static const tokavg_config_t kAny = [] {
    tokavg_config_t config{};
    config.terms = 2;
    return config;
  }();
  return handle.rank != nullptr ? handle.rank->config : kAny;
}

template <typename Call>
void make(const Handle& handle, Arguments& arguments, bool nothing, const char* name, Call call) {
  arguments.memory().remember();
  const tokavg_status_t status = call();
  arguments.memory().check(status < 0);
  check_status(handle, status, true);
  EXPECT(status == TOKAVG_OK || status < 0, "%s: %d", name, status);
  EXPECT(status < 0 || !(nothing || arguments.must_fail()), "%s accepted what is wrong", name);
  // The status does not say whether it was the call or the ticket that failed.
  if (handle.rank != nullptr && status < 0) handle.rank->blame(Mark::kPerhaps);
}

}  // namespace

void loss(Reader& in, const Handle& handle) {
  Arguments arguments(in);
  const tokavg_config_t& config = config_of(handle);
  tokavg_loss_t loss{};
  loss.kind = in.one_in(24) ? in.value<std::int32_t>() : static_cast<std::int32_t>(1 + in.below(3));
  const bool per_token = loss.kind == TOKAVG_LOSS_TOKEN_LOSSES;
  if (loss.kind < 1 || loss.kind > 3) arguments.spoil();
  if (loss.kind == TOKAVG_LOSS_MEAN && config.divisor == TOKAVG_DIVISOR_WEIGHTS) arguments.spoil();
  loss.rows = arguments.length();
  loss.cols = arguments.length();
  if (per_token && (loss.rows < 0 || loss.cols < 0)) arguments.spoil();
  loss.tokens = in.pick_or_any<std::int64_t>({0, -1, 1, 5, -2, INT64_MAX, 100});
  if (!per_token && loss.tokens < -1) arguments.spoil();
  if (in.one_in(48)) loss.reserved = in.byte();
  if (loss.reserved != 0) arguments.spoil();
  const Shape shape = per_token ? Shape{loss.rows, loss.cols} : Shape{1, 1};
  const bool reads = per_token ? loss.rows != 0 && loss.cols != 0 : loss.tokens != 0;
  loss.losses = arguments.array(shape, {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64}, Use::kInput, {}, 32);
  if (reads && loss.losses.data == nullptr) arguments.spoil();
  if (per_token ? in.coin() : in.one_in(24)) {
    const std::int64_t rows = in.one_in(32) ? arguments.length() : loss.rows;
    const tokavg_labels_t labels = arguments.labels(config, rows, loss.cols, 4);
    if (!per_token || rows != loss.rows) arguments.spoil();
    loss.labels = arguments.present(labels);
    loss.term = labels.term;
  } else {
    loss.term = arguments.term(config.terms);
  }
  loss.loss_scale = arguments.multiplier();
  loss.loss_scale_device = arguments.device_pointer();
  loss.sum_out = arguments.output<double>();
  if (in.coin()) {
    const auto size = static_cast<std::size_t>(bytes_each(loss.losses.dtype));
    loss.backward_out = arguments.memory().block(size, Use::kOutput);
    if (loss.losses.dtype != TOKAVG_DTYPE_F32 && loss.losses.dtype != TOKAVG_DTYPE_F64) arguments.spoil();
  }
  const tokavg_ticket_t ticket = in.coin() ? tokavg_ticket_t{TOKAVG_OPEN} : a_ticket(in, handle);
  const bool nothing = in.one_in(32);
  const tokavg_loss_t* const given = nothing ? nullptr : arguments.present(loss);
  make(handle, arguments, nothing, "tokavg_loss", [&] { return tokavg_loss(handle.ctx, ticket, given, nullptr); });
}

void cross_entropy(Reader& in, const Handle& handle) {
  Arguments arguments(in);
  const tokavg_config_t& config = config_of(handle);
  tokavg_cross_entropy_t ce{};
  const std::int64_t rows = arguments.length();
  const std::int64_t cols = arguments.length();
  static constexpr std::int64_t kVocabs[] = {
      1, 2, 3, 4, 7, 16, 17, 33, 65, 0, -1, INT32_MAX, std::int64_t{INT32_MAX} + 1};
  ce.vocab = in.pick_or_any(kVocabs);
  if (ce.vocab < 1 || ce.vocab > INT32_MAX) arguments.spoil();
  const tokavg_labels_t labels = arguments.labels(config, rows, cols, ce.vocab);
  const Shape shape{rows, cols, ce.vocab};
  const bool in_place = in.one_in(3);
  const auto logits_use = in_place ? Use::kOutput : Use::kInput;
  constexpr std::int32_t kTypes[] = {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16};
  ce.logits = arguments.array(shape, {kTypes[0], kTypes[1], kTypes[2]}, logits_use, {}, 64);
  if (ce.logits.data == nullptr && rows != 0 && cols != 0) arguments.spoil();
  if (in_place) {
    ce.gradient_out = ce.logits;
  } else if (in.coin()) {
    ce.gradient_out = arguments.array(shape, {ce.logits.dtype}, Use::kOutput, {}, 8);
  }
  const Shape plain{rows, cols};
  if (in.coin()) ce.losses_out = arguments.array(plain, {TOKAVG_DTYPE_F32}, Use::kOutput, {}, 4);
  if (in.coin()) ce.lse_out = arguments.array(plain, {TOKAVG_DTYPE_F32}, Use::kOutput, {}, 4);
  if (in.coin()) ce.argmax_out = arguments.array(plain, {TOKAVG_DTYPE_I32}, Use::kOutput, {}, 4);
  static constexpr double kCoefficients[] = {0, 0, 0.1, 1, -0.5, 5e-324, 1e300, 30};
  if (in.one_in(3)) ce.label_smoothing = in.pick_or_any(kCoefficients);
  if (in.one_in(3)) ce.z_loss = in.pick_or_any(kCoefficients);
  if (in.one_in(3)) ce.logit_softcap = in.pick_or_any(kCoefficients);
  if (!(ce.label_smoothing >= 0 && ce.label_smoothing <= 1)) arguments.spoil();
  if (!(ce.z_loss >= 0) || !(ce.logit_softcap >= 0)) arguments.spoil();
  if (in.one_in(48)) ce.reserved = in.byte();
  if (ce.reserved != 0) arguments.spoil();
  ce.loss_scale = arguments.multiplier();
  ce.loss_scale_device = arguments.device_pointer();
  ce.sum_out = arguments.output<double>();
  ce.backward_out = arguments.output<float>();
  ce.labels = arguments.present(labels);
  const tokavg_ticket_t ticket = in.coin() ? tokavg_ticket_t{TOKAVG_OPEN} : a_ticket(in, handle);
  const bool nothing = in.one_in(32);
  const tokavg_cross_entropy_t* const given = nothing ? nullptr : arguments.present(ce);
  make(handle, arguments, nothing, "tokavg_cross_entropy",
       [&] { return tokavg_cross_entropy(handle.ctx, ticket, given, nullptr); });
}

void scale(Reader& in, const Handle& handle) {
  Arguments arguments(in);
  static constexpr std::uint32_t kSizes[] = {
      sizeof(tokavg_scale_item_t), sizeof(tokavg_scale_item_t), sizeof(tokavg_scale_item_t) + 8, 16, 0, 65537};
  tokavg_scale_t scale{};
  scale.item_size = in.pick(kSizes);
  const std::size_t n_items = in.below(4);
  scale.n_items = static_cast<std::int64_t>(n_items);
  if (n_items != 0 && (scale.item_size < sizeof(tokavg_scale_item_t) || scale.item_size > 65536)) arguments.spoil();
  std::byte* const items = arguments.memory().block(n_items * scale.item_size, Use::kInput);
  if (n_items != 0) std::memset(items, 0, n_items * scale.item_size);
  for (std::size_t i = 0; i < n_items; ++i) {
    tokavg_scale_item_t item{};
    item.count = in.one_in(24) ? arguments.length() : std::int64_t{in.byte()};
    if (item.count < 0) arguments.spoil();
    const tokavg_array_t array = arguments.array(
        {1, item.count, 1, false}, {TOKAVG_DTYPE_F32, TOKAVG_DTYPE_F64, TOKAVG_DTYPE_BF16, TOKAVG_DTYPE_F16},
        Use::kOutput, {}, 48);
    if (array.data == nullptr && item.count != 0) arguments.spoil();
    item.data = array.data;
    item.dtype = array.dtype;
    item.memory = array.memory;
    std::memcpy(items + i * scale.item_size, &item, std::min<std::size_t>(sizeof item, scale.item_size));
  }
  scale.items = reinterpret_cast<const tokavg_scale_item_t*>(items);
  if (in.one_in(24)) {
    scale.n_items = in.pick<std::int64_t>({-1, INT64_MAX, INT64_MIN, std::int64_t{INT32_MAX} + 1});
    arguments.spoil();
  }
  scale.term = arguments.term(config_of(handle).terms);
  scale.kind = in.one_in(24) ? in.value<std::int32_t>() : static_cast<std::int32_t>(1 + in.below(3));
  if (scale.kind < 1 || scale.kind > 3) arguments.spoil();
  scale.factor = arguments.multiplier();
  scale.factor_device = arguments.device_pointer();
  const tokavg_ticket_t ticket = a_ticket(in, handle);
  const bool nothing = in.one_in(32);
  const tokavg_scale_t* const given = nothing ? nullptr : arguments.present(scale);
  make(handle, arguments, nothing, "tokavg_scale", [&] { return tokavg_scale(handle.ctx, ticket, given, nullptr); });
}

}  // namespace fuzz
