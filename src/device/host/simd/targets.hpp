// SPDX-License-Identifier: Apache-2.0
#pragma once

// Before Highway's headers: for which targets kernels are made.
//
// Those without a fused multiply-add could not give the same bits at vector speed, and those whose vectors have no
// fixed length do not fit the groups of 64 columns: there the portable kernels run.
#define HWY_DISABLED_TARGETS (~(HWY_AVX3 | HWY_AVX2 | HWY_NEON | HWY_SCALAR))
// The fallback is one lane at a time for every compiler: some miscompile Highway's emulation of 128 bits.
#define HWY_BROKEN_EMU128 1
