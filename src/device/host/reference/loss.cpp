// SPDX-License-Identifier: Apache-2.0
#include "device/host/record.hpp"
#include "device/host/reference/reference.hpp"
#include "device/host/tokens.hpp"

namespace tokavg::host::reference {

Recorded token_losses(const TokenLosses& losses) {
  const Input<double> loss = reals(losses.losses);
  Recorded recorded;
  if (losses.labels == nullptr) {
    for (std::int64_t r = 0; r < losses.rows; ++r) {
      for (std::int64_t c = 0; c < losses.cols; ++c) record(1.0, loss(r, c), recorded);
    }
    return recorded;
  }
  const Tokens tokens(*losses.labels);
  tokens.check_weights();
  tokens.for_each_scored([&](std::int64_t r, std::int64_t c) { record(tokens.weight(r, c), loss(r, c), recorded); });
  return recorded;
}

}  // namespace tokavg::host::reference
