// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/step.hpp"

namespace tokavg {

// kind SCALE: G * A / Z or A / Z; REPORT: 1 / Z; MICROBATCH: G * A * shards / M or A * shards / M. Products before the
// one division; 0 where there is nothing to divide by.
double factor(const FactorRule& rule, const Step& step, std::int32_t term, std::int32_t kind) noexcept;

// S / Z; +0.0 where Z = 0, even if a loss was not finite; else the quiet NaN if one was.
double mean_loss(const TermLosses& losses, double z) noexcept;

// S, or the quiet NaN if a loss was not finite.
double loss_sum(const TermLosses& losses) noexcept;

// The bits that a non-finite sum is reported with, 0x7ff8000000000000.
double quiet_nan() noexcept;

}  // namespace tokavg
