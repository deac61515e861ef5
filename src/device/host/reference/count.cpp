// SPDX-License-Identifier: Apache-2.0
#include "device/host/reference/reference.hpp"
#include "device/host/tokens.hpp"

namespace tokavg::host::reference {

Counted count(const LabelsView& labels) {
  const Tokens tokens(labels);
  tokens.check_weights();
  Counted counted;
  tokens.for_each_scored([&](std::int64_t r, std::int64_t c) {
    ++counted.tokens;
    if (tokens.weighted()) counted.weights.add(tokens.weight(r, c));
  });
  if (tokens.weighted()) counted.weighted_tokens = counted.tokens;
  return counted;
}

}  // namespace tokavg::host::reference
