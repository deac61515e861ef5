// SPDX-License-Identifier: Apache-2.0
// The plain loops, once with -O3 and once with -Ofast. Each returns the sum of the losses; train: the gradient goes
// over the logits.
#ifndef TOKAVG_BENCH_PEERS_PLAIN_HPP
#define TOKAVG_BENCH_PEERS_PLAIN_HPP

#include <cstdint>

namespace tokavg::peers {

struct PlainBatch {
  void* logits;
  const std::int64_t* labels;
  std::int64_t rows;
  std::int64_t vocab;
  float factor;
};

double plain_f32(const PlainBatch& batch, bool train);
double plain_bf16(const PlainBatch& batch, bool train);
double plain_fast_f32(const PlainBatch& batch, bool train);
double plain_fast_bf16(const PlainBatch& batch, bool train);

}  // namespace tokavg::peers

#endif
