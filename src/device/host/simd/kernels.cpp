// SPDX-License-Identifier: Apache-2.0
#include "device/host/simd/kernels.hpp"

// Targets without a fused multiply-add could not give the same bits at vector speed, and those whose vectors have no
// fixed length do not fit the groups of 64 columns: there the portable kernels run.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "device/host/simd/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "device/host/simd/count-inl.h"
#include "device/host/simd/cross_entropy-inl.h"
#include "device/host/simd/scale-inl.h"
#include "device/host/simd/sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tokavg::host::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3
constexpr const char* kName = "avx512";
#elif HWY_TARGET == HWY_AVX2
constexpr const char* kName = "avx2";
#elif HWY_TARGET == HWY_NEON
constexpr const char* kName = "neon";
#else
constexpr const char* kName = "portable";
#endif

template <class Stored>
constexpr RowKernels kRow{evaluate_row<Stored>, largest_in_row<Stored>};

constexpr SimdKernels kKernels{
    .name = kName,
    .count_i32 = count_labels<std::int32_t>,
    .count_i64 = count_labels<std::int64_t>,
    .count_masked_i32 = count_masked_labels<std::int32_t>,
    .count_masked_i64 = count_masked_labels<std::int64_t>,
    .sum_f32 = sum_values<float>,
    .sum_f64 = sum_values<double>,
    .sum_f32_i32 = sum_labelled<float, std::int32_t>,
    .sum_f32_i64 = sum_labelled<float, std::int64_t>,
    .sum_f64_i32 = sum_labelled<double, std::int32_t>,
    .sum_f64_i64 = sum_labelled<double, std::int64_t>,
    .scale_f32 = scale_values<float>,
    .scale_f64 = scale_values<double>,
    .scale_bf16 = scale_values<hwy::bfloat16_t>,
    .scale_f16 = scale_values<hwy::float16_t>,
    .row_f32 = kRow<float>,
    .row_bf16 = kRow<hwy::bfloat16_t>,
    .row_f16 = kRow<hwy::float16_t>,
};

const SimdKernels* table() { return &kKernels; }

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/error.hpp"

namespace tokavg::host {
namespace {

HWY_EXPORT(table);

// Highway's own choice is one for the whole process; ours is one for each device.
const SimdKernels& table_of(std::int64_t target) {
  hwy::ChosenTarget chosen;
  chosen.Update(target);
  return *HWY_DISPATCH_TABLE(table)[chosen.GetIndex()]();
}

}  // namespace

const SimdKernels& choose_simd(const std::string& name) {
  std::string available;
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const SimdKernels& kernels = table_of(target);
    if (name.empty() || name == "auto" || name == kernels.name) return kernels;
    available += std::string(", ") + kernels.name;
  }
  fail(TOKAVG_ERR_CONFIG, "TOKAVG_SIMD is \"%s\"; this processor has: auto%s", name.c_str(), available.c_str());
}

}  // namespace tokavg::host
#endif
