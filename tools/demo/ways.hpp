// SPDX-License-Identifier: Apache-2.0
// The four ways of training that the demo compares.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "demo/model.hpp"
#include "demo/options.hpp"
#include "demo/team.hpp"
#include "demo/text.hpp"

namespace tokavg_tool::demo {

enum class Way { kOneProcess, kLocalMean, kTokavgPre, kTokavgPost };

inline constexpr std::array kWays = {Way::kOneProcess, Way::kLocalMean, Way::kTokavgPre, Way::kTokavgPost};

/// The name in tables and JSON.
std::string_view name_of(Way way);

/// What a run leaves: one value a step, and the time that the reduction cost.
struct Curve {
  std::vector<double> losses;
  std::vector<double> gradient_norms;
  double exposed_seconds = 0.0;  ///< all ranks together
  double step_seconds = 0.0;     ///< all ranks together
};

/// One way, on one rank: makes the gradient of a step.
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Leaves in `gradient` (zero before) the gradient that the optimiser applies, the same on every rank.
  virtual void step(int64_t index, const Parameters& model, Parameters& gradient, Curve& curve) = 0;
  /// After the last step: losses that are still under way.
  virtual void finish(Curve& curve) { static_cast<void>(curve); }
};

/// What all steppers need; the references outlive them.
struct Setup {
  const Options& options;
  const Batches& batches;
  Team& team;
};

std::unique_ptr<Stepper> make_one_process(const Setup& setup);
std::unique_ptr<Stepper> make_local_mean(const Setup& setup);
std::unique_ptr<Stepper> make_tokavg_pre(const Setup& setup);
std::unique_ptr<Stepper> make_tokavg_post(const Setup& setup);
std::unique_ptr<Stepper> make_stepper(Way way, const Setup& setup);

/// The trainer's own reduction: a mean over the ranks, or a sum if the options say so.
void reduce_gradient(const Setup& setup, Parameters& gradient);

}  // namespace tokavg_tool::demo
