// SPDX-License-Identifier: Apache-2.0
#include "core/factor.hpp"

#include <bit>

namespace tokavg {

double quiet_nan() noexcept { return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000U}); }

double factor(const FactorRule& rule, const Step& step, std::int32_t term, std::int32_t kind) noexcept {
  if (kind == TOKAVG_FACTOR_MICROBATCH) return rule.microbatch(step.sums.microbatches, step.accumulation_divisor);
  const double z = step.divisors[static_cast<std::size_t>(term)];
  return kind == TOKAVG_FACTOR_REPORT ? FactorRule::report(z) : rule.scale(z, step.accumulation_divisor);
}

double loss_sum(const TermLosses& losses) noexcept {
  return losses.nonfinite != 0 || losses.sum.too_large() ? quiet_nan() : losses.sum.value();
}

double mean_loss(const TermLosses& losses, double z) noexcept { return z == 0 ? 0.0 : loss_sum(losses) / z; }

}  // namespace tokavg
