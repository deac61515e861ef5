// SPDX-License-Identifier: Apache-2.0
// -Ofast: expf becomes a vector function of the C library, and the sum is reordered.
#include "plain_rows.hpp"

namespace tokavg::peers {

double plain_fast_f32(const PlainBatch& b, bool train) {
  return rows(static_cast<float*>(b.logits), b.labels, b.rows, b.vocab, b.factor, train);
}

double plain_fast_bf16(const PlainBatch& b, bool train) {
  return rows(static_cast<std::uint16_t*>(b.logits), b.labels, b.rows, b.vocab, b.factor, train);
}

}  // namespace tokavg::peers
