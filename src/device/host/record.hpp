// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

#include "device/device.hpp"

namespace tokavg::host {

// One token of weight w whose loss is l more. Without weights w is 1.
inline void record(double w, double l, Recorded& recorded) {
  ++recorded.tokens;
  if (w == 0) return;  // also where l is NaN or infinite
  const double x = w * l;
  if (std::fabs(x) < kTokenLimit) {
    recorded.sum.add(x);
  } else {
    ++recorded.nonfinite;
  }
}

}  // namespace tokavg::host
