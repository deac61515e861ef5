// SPDX-License-Identifier: Apache-2.0
#include "contract/gradient_checks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "contract/trainer.hpp"

namespace contract {
namespace {

constexpr double kDouble = 1e-12;
// Logits and gradients are rounded to float: 2^-24 each, times the few terms of one entry.
constexpr double kFused = 3e-7;
// The mean of local means has to be far off, or the comparison could not fail.
constexpr double kFarOff = 1e-3;

const char* name_of(Way way) {
  switch (way) {
    case Way::kLossScaled: return "loss scaled";
    case Way::kFactor: return "tokavg_factor";
    case Way::kFused: return "cross entropy";
    case Way::kGradientScaled: return "gradient scaled";
  }
  return "?";
}

class Checks {
 public:
  explicit Checks(Team& team) : team_(team) {}

  void check(const Trainer& trainer, int accumulation, int microbatches) {
    const Cells cells = deal(team_.ranks(), accumulation, microbatches);
    const Reference reference = one_process(trainer, cells);
    for (const Way way : {Way::kLossScaled, Way::kFactor, Way::kFused, Way::kGradientScaled}) {
      // One factor on the gradients cannot serve two divisors (contract, 6).
      if (way == Way::kGradientScaled && trainer.terms > 1) continue;
      compare(trainer, way, reference, train(trainer, way, cells, team_), accumulation, microbatches);
    }
    if (team_.ranks() * accumulation * microbatches == 1) return;
    const double off = difference(reference.local_means, reference.gradient);
    report.least_local_means = std::min(report.least_local_means, off);
    expect(off > kFarOff, trainer, "mean of local means", accumulation, microbatches, off, "");
  }

  GradientReport report;

 private:
  void compare(const Trainer& trainer, Way way, const Reference& reference, const Outcome& outcome, int accumulation,
               int microbatches) {
    const double off = difference(outcome.gradient, reference.gradient);
    double& worst = way == Way::kFused ? report.worst_fused : report.worst_double;
    worst = std::max(worst, off);
    const double limit = way == Way::kFused ? kFused : kDouble;
    expect(outcome.fault.empty() && off <= limit, trainer, name_of(way), accumulation, microbatches, off,
           outcome.fault);
    const double loss_off = std::fabs(outcome.mean_loss - reference.loss) / std::max(reference.loss, 1e-300);
    expect(loss_off <= limit, trainer, "mean loss", accumulation, microbatches, loss_off, name_of(way));
    const double batch_off = std::fabs(outcome.batch_term - reference.batch_term) / std::max(reference.batch_term, 1.0);
    expect(batch_off <= kDouble, trainer, "batch-level term", accumulation, microbatches, batch_off, name_of(way));
  }

  void expect(bool fine, const Trainer& trainer, const char* what, int accumulation, int microbatches, double off,
              const std::string& text) {
    ++report.checked;
    if (fine) return;
    ++report.failed;
    if (team_.rank() != 0) return;
    std::printf(
        "FAIL %s: %d ranks x %d accumulation x %d microbatches, %s, A %s, %d terms, shards %d%s: off by %g %s\n", what,
        team_.ranks(), accumulation, microbatches, trainer.averages ? "mean" : "sum",
        trainer.divides_accumulation ? "divided by the trainer" : "1", trainer.terms, trainer.shards,
        trainer.weighted ? ", weights" : "", off, text.c_str());
  }

  Team& team_;
};

}  // namespace

GradientReport check_gradients(Team& team, bool all_shapes) {
  Checks checks(team);
  for (const bool averages : {true, false}) {
    for (const bool divides : {true, false}) {
      for (int accumulation = 1; accumulation <= 3; ++accumulation) {
        for (int microbatches = 1; microbatches <= 2; ++microbatches) {
          if (!all_shapes && (accumulation != 2 || microbatches != 2)) continue;
          Trainer trainer;
          trainer.averages = averages;
          trainer.divides_accumulation = divides;
          checks.check(trainer, accumulation, microbatches);
          trainer.weighted = true;
          checks.check(trainer, accumulation, microbatches);
          trainer.terms = 2;
          checks.check(trainer, accumulation, microbatches);
          trainer.weighted = false;
          // The ranks stay the same, but neighbours now hold shards of one microbatch: only M changes its meaning.
          trainer.shards = team.ranks() % 2 == 0 ? 2 : 1;
          checks.check(trainer, accumulation, microbatches);
        }
      }
    }
  }
  return checks.report;
}

int end_of_gradients(int ranks, const GradientReport& report) {
  std::printf(
      "gradients of %d ranks: %d checks, %d failed; off by %.1e (double), %.1e (float logits); local means by at least "
      "%.1e\n",
      ranks, report.checked, report.failed, report.worst_double, report.worst_fused, report.least_local_means);
  return report.failed == 0 ? 0 : 1;
}

}  // namespace contract
