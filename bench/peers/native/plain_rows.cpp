// SPDX-License-Identifier: Apache-2.0
// -O3: expf is called for each element, and the sum stays in order.
#include "plain_rows.hpp"

namespace tokavg::peers {

double plain_f32(const PlainBatch& b, bool train) {
  return rows(static_cast<float*>(b.logits), b.labels, b.rows, b.vocab, b.factor, train);
}

double plain_bf16(const PlainBatch& b, bool train) {
  return rows(static_cast<std::uint16_t*>(b.logits), b.labels, b.rows, b.vocab, b.factor, train);
}

}  // namespace tokavg::peers
