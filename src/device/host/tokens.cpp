// SPDX-License-Identifier: Apache-2.0
#include "device/host/tokens.hpp"

#include <cinttypes>
#include <cmath>
#include <utility>

namespace tokavg::host {

Tokens::Tokens(const LabelsView& view)
    : view_(view), labels_(integers(view.labels)), mask_(integers(view.mask)), weights_(reals(view.weights)) {}

void Tokens::check_weights() const {
  if (!weighted()) return;
  for_each_scored([this](std::int64_t r, std::int64_t c) {
    const double w = weight(r, c);
    if (!(std::fabs(w) < kTokenLimit)) {
      fail(TOKAVG_ERR_WEIGHT,
           "the weight at row %" PRId64 ", column %" PRId64
           " is %.9g; weights of scored tokens must be finite and below 2^22 (mask the token, or scale the weights)",
           r, c, w);
    }
    if (view_.weights_divide && w < 0) {
      fail(TOKAVG_ERR_WEIGHT,
           "the weight at row %" PRId64 ", column %" PRId64
           " is %.9g; weights that divide must not be negative (use the divisor tokens for signed weights)",
           r, c, w);
    }
  });
}

void Tokens::check_labels(std::int64_t vocab) const {
  for_each_scored([this, vocab](std::int64_t r, std::int64_t c) {
    const std::int64_t y = label(r, c);
    if (y >= view_.label_base && y - view_.label_base < vocab) return;
    fail(TOKAVG_ERR_LABEL,
         "the label at row %" PRId64 ", column %" PRId64 " is %" PRId64 "; it must be %" PRId32 " to %" PRId64
         " (label_base, vocab), or %" PRId64 " where the token is not scored",
         r, c, y, view_.label_base, vocab - 1 + view_.label_base, view_.ignore_index);
  });
}

bool labels_suit_vectors(const LabelsView& view) noexcept {
  const bool wide = view.labels.dtype == TOKAVG_DTYPE_I64;
  return view.labels.col_stride == 1 && (wide || std::in_range<std::int32_t>(view.ignore_index));
}

}  // namespace tokavg::host
