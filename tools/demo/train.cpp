// SPDX-License-Identifier: Apache-2.0
#include "demo/train.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "common/failure.hpp"

namespace tokavg_tool::demo {

using Clock = std::chrono::steady_clock;

std::string_view name_of(Way way) {
  switch (way) {
    case Way::kOneProcess: return "one_process";
    case Way::kLocalMean: return "local_mean";
    case Way::kTokavgPre: return "tokavg_pre";
    case Way::kTokavgPost: return "tokavg_post";
  }
  throw Failure("no such way of training");
}

std::unique_ptr<Stepper> make_stepper(Way way, const Setup& setup) {
  switch (way) {
    case Way::kOneProcess: return make_one_process(setup);
    case Way::kLocalMean: return make_local_mean(setup);
    case Way::kTokavgPre: return make_tokavg_pre(setup);
    case Way::kTokavgPost: return make_tokavg_post(setup);
  }
  throw Failure("no such way of training");
}

void reduce_gradient(const Setup& setup, Parameters& gradient) {
  setup.team.sum(gradient.all());
  if (setup.options.sum_gradients) {
    return;
  }
  for (double& value : gradient.all()) {
    value /= setup.team.ranks();
  }
}

Curve train(Way way, const Setup& setup, Progress& progress) {
  const Options& options = setup.options;
  Parameters model = Parameters::random(options.embedding, options.hidden, options.seed);
  Parameters gradient(options.embedding, options.hidden);
  const std::unique_ptr<Stepper> stepper = make_stepper(way, setup);
  Curve curve;
  progress.begin(std::string(name_of(way)), options.steps);
  for (int step = 0; step < options.steps; ++step) {
    const Clock::time_point begun = Clock::now();
    std::ranges::fill(gradient.all(), 0.0);
    stepper->step(step, model, gradient, curve);
    curve.step_seconds += std::chrono::duration<double>(Clock::now() - begun).count();
    curve.gradient_norms.push_back(gradient.norm());
    descend(model, gradient, options.learning_rate);
    progress.step(step + 1);
  }
  stepper->finish(curve);
  setup.team.sum({&curve.exposed_seconds, 1});
  setup.team.sum({&curve.step_seconds, 1});
  progress.end();
  return curve;
}

}  // namespace tokavg_tool::demo
