// SPDX-License-Identifier: Apache-2.0
#pragma once

// Before Highway's headers: for which targets kernels are made.
//
// Those without a fused multiply-add could not give the same bits at vector speed, and those whose vectors have no
// fixed length do not fit the groups of 64 columns: there the portable kernels run.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
// The fallback is one lane at a time for every compiler: some miscompile Highway's emulation of 128 bits.
#define HWY_BROKEN_EMU128 1
