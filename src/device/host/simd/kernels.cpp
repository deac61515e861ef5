// SPDX-License-Identifier: Apache-2.0
#include "device/host/simd/kernels.hpp"
#include "device/host/simd/targets.hpp"

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

template <class Stored>
constexpr RowKernels kRow{evaluate_row<Stored>, largest_in_row<Stored>, 0};

constexpr SimdKernels kKernels{
    .name = kTargetName,
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

}  // namespace tokavg::host::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "base/error.hpp"

namespace tokavg::host {
namespace {

struct Target {
  const SimdKernels& kernels;
  bool (*runs_here)();
};

#if HWY_ARCH_X86
// What Highway asks of these targets. It is asked of the compiler's runtime, so that nothing of Highway's has to be
// linked: its library measures the clock whenever a process loads it.
bool runs_avx2() {
  __builtin_cpu_init();
  // F16C, which Clang cannot ask for, is older than AVX2.
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
         __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
}

bool runs_avx512() {
  return runs_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0;
}
#endif

bool runs_everywhere() { return true; }

// The best first. A target that the compiler may use anyway makes those below it needless, and Highway leaves them out.
const Target kTargets[] = {
#if (HWY_TARGETS & HWY_AVX3) != 0
    {N_AVX3::kKernels, runs_avx512},
#endif
#if (HWY_TARGETS & HWY_AVX2) != 0
    {N_AVX2::kKernels, runs_avx2},
#endif
#if (HWY_TARGETS & HWY_NEON) != 0
    {N_NEON::kKernels, runs_everywhere},
#endif
#if (HWY_TARGETS & HWY_SCALAR) != 0
    {N_SCALAR::kKernels, runs_everywhere},
#endif
};

}  // namespace

const SimdKernels& choose_simd(const std::string& name) {
  std::string available;
  for (const Target& target : kTargets) {
    if (!target.runs_here()) continue;
    if (name.empty() || name == "auto" || name == target.kernels.name) return target.kernels;
    available += std::string(", ") + target.kernels.name;
  }
  fail(TOKAVG_ERR_CONFIG, "TOKAVG_SIMD is \"%s\"; this processor has: auto%s", name.c_str(), available.c_str());
}

}  // namespace tokavg::host
#endif
