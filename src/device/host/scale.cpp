// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "device/host/kernels.hpp"
#include "device/host/values.hpp"

namespace tokavg::host {
namespace {

constexpr std::int64_t kGrain = std::int64_t{1} << 16;  // elements that are worth waking a thread for

SimdKernels::Scale kernel_for(const SimdKernels& simd, std::int32_t dtype) {
  switch (dtype) {
    case TOKAVG_DTYPE_F32: return simd.scale_f32;
    case TOKAVG_DTYPE_F64: return simd.scale_f64;
    case TOKAVG_DTYPE_BF16: return simd.scale_bf16;
    case TOKAVG_DTYPE_F16: return simd.scale_f16;
    default: fail(TOKAVG_ERR_INTERNAL, "dtype %d is not a floating-point type", dtype);
  }
}

}  // namespace

void scale(const ArrayView& array, std::int64_t count, double factor, const SimdKernels& simd, Workers& workers) {
  if (count == 0) return;
  const SimdKernels::Scale kernel = kernel_for(simd, array.dtype);
  const auto element_size = static_cast<std::int64_t>(size_of(array.dtype));
  auto* data = static_cast<std::byte*>(array.data);
  workers.run(count, kGrain, [=](std::size_t /*worker*/, std::int64_t begin, std::int64_t end) {
    std::byte* at = data + begin * element_size;
    if (factor == 0) {
      store_zeros(end - begin, array.dtype, at);
    } else {
      kernel(at, end - begin, factor);
    }
  });
}

}  // namespace tokavg::host
