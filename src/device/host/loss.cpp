// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "device/host/kernels.hpp"
#include "device/host/tokens.hpp"

namespace tokavg::host {
namespace {

Recorded every_loss(const TokenLosses& losses) {
  const Input<double> loss = reals(losses.losses);
  Recorded recorded;
  for (std::int64_t r = 0; r < losses.rows; ++r) {
    for (std::int64_t c = 0; c < losses.cols; ++c) record(1.0, loss(r, c), recorded);
  }
  return recorded;
}

}  // namespace

void record(double w, double l, Recorded& recorded) {
  ++recorded.tokens;
  if (w == 0) return;  // also where l is NaN or infinite
  const double x = w * l;
  if (std::fabs(x) < kTokenLimit) {
    recorded.sum.add(x);
  } else {
    ++recorded.nonfinite;
  }
}

Recorded token_losses(const TokenLosses& losses) {
  if (losses.labels == nullptr) return every_loss(losses);
  const Tokens tokens(*losses.labels);
  tokens.check_weights();
  const Input<double> loss = reals(losses.losses);
  Recorded recorded;
  tokens.for_each_scored([&](std::int64_t r, std::int64_t c) { record(tokens.weight(r, c), loss(r, c), recorded); });
  return recorded;
}

}  // namespace tokavg::host
