// SPDX-License-Identifier: Apache-2.0
// Cross entropy as a trainer without a fused kernel writes it: largest logit, sum of exponentials, gradient.
// Included by one file for each set of compiler flags.
#ifndef TOKAVG_BENCH_PEERS_PLAIN_ROWS_HPP
#define TOKAVG_BENCH_PEERS_PLAIN_ROWS_HPP

#include <math.h>

#include <cstdint>
#include <cstring>

#include "plain.hpp"

namespace {

inline float load(float x) { return x; }

inline float load(std::uint16_t x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline void store(float* to, float x) { *to = x; }

inline void store(std::uint16_t* to, float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  *to = static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <typename T>
double rows(T* logits, const std::int64_t* labels, std::int64_t n_rows, std::int64_t vocab, float factor, bool train) {
  double total = 0;
  for (std::int64_t r = 0; r < n_rows; r++) {
    T* row = logits + r * vocab;
    float largest = load(row[0]);
    for (std::int64_t k = 1; k < vocab; k++) {
      const float x = load(row[k]);
      largest = x > largest ? x : largest;
    }
    float sum = 0;
    for (std::int64_t k = 0; k < vocab; k++) sum += expf(load(row[k]) - largest);
    const float lse = logf(sum) + largest;
    const float loss = lse - load(row[labels[r]]);
    total += static_cast<double>(loss);
    if (!train) continue;
    for (std::int64_t k = 0; k < vocab; k++) store(row + k, expf(load(row[k]) - lse) * factor);
    store(row + labels[r], (expf(-loss) - 1.0F) * factor);
  }
  return total;
}

}  // namespace

#endif
