// SPDX-License-Identifier: Apache-2.0
#include "core/factor.hpp"

#include <bit>

namespace tokavg {

double quiet_nan() noexcept { return std::bit_cast<double>(std::uint64_t{0x7ff8000000000000U}); }

double divisor(const FactorRule& rule, const TermCounts& counts, double weight_sum) noexcept {
  return rule.weights_divide ? weight_sum : static_cast<double>(counts.tokens);
}

double factor(const FactorRule& rule, const Step& step, std::int32_t term, std::int32_t kind) noexcept {
  const double a = step.accumulation_divisor;
  const double g = rule.gradients_averaged ? static_cast<double>(rule.gradient_ranks) : 1.0;
  if (kind == TOKAVG_FACTOR_MICROBATCH) {
    const auto m = static_cast<double>(step.sums.microbatches);
    return m == 0 ? 0.0 : g * a * static_cast<double>(rule.microbatch_shards) / m;
  }
  const double z = step.divisors[static_cast<std::size_t>(term)];
  if (z == 0) return 0.0;
  return kind == TOKAVG_FACTOR_REPORT ? 1.0 / z : g * a / z;
}

double loss_sum(const TermLosses& losses) noexcept {
  return losses.nonfinite != 0 || losses.sum.too_large() ? quiet_nan() : losses.sum.value();
}

double mean_loss(const TermLosses& losses, double z) noexcept { return z == 0 ? 0.0 : loss_sum(losses) / z; }

}  // namespace tokavg
