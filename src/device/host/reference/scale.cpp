// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "device/host/reference/reference.hpp"
#include "device/host/values.hpp"

namespace tokavg::host::reference {

void scale(const ArrayView& array, std::int64_t count, double factor) {
  if (factor == 0) return store_zeros(count, array.dtype, array.data);
  const std::size_t element_size = size_of(array.dtype);
  std::array<double, 256> buffer;
  auto* at = static_cast<std::byte*>(array.data);
  for (std::int64_t left = count; left > 0;) {
    const auto n = std::min(static_cast<std::size_t>(left), buffer.size());
    const std::span<double> block(buffer.data(), n);
    load(at, array.dtype, block);
    for (double& x : block) x *= factor;
    store(block, array.dtype, at);
    at += n * element_size;
    left -= static_cast<std::int64_t>(n);
  }
}

}  // namespace tokavg::host::reference
