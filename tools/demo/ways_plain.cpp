// SPDX-License-Identifier: Apache-2.0
// The two ways without tokavg: what is wanted, and what most trainers do.
#include <cmath>

#include "demo/ways.hpp"

namespace tokavg_tool::demo {
namespace {

/// The sum of the scored losses with the error of each addition kept (Neumaier): for losses of a language model it is
/// the exact sum, rounded once. Written here on purpose without tokavg: it is what tokavg is compared with.
double exact_sum(const Microbatch& batch, const std::vector<double>& losses) {
  double sum = 0.0;
  double rest = 0.0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (batch.labels[i] == kIgnore) {
      continue;
    }
    const double next = sum + losses[i];
    rest += std::abs(sum) >= std::abs(losses[i]) ? (sum - next) + losses[i] : (losses[i] - next) + sum;
    sum = next;
  }
  return sum + rest;
}

/// The whole batch of a step in one process: sum of the losses / number of tokens.
class OneProcess : public Stepper {
 public:
  explicit OneProcess(const Setup& setup) : setup_(setup) {}

  void step(int64_t index, const Parameters& model, Parameters& gradient, Curve& curve) override {
    const Microbatch batch = setup_.batches.whole(index);
    const auto tokens = static_cast<double>(batch.tokens());
    forward(model, setup_.batches.text, batch, activations_);
    backward(model, setup_.batches.text, batch, activations_, 1.0 / tokens, gradient);
    curve.losses.push_back(exact_sum(batch, activations_.losses) / tokens);
  }

 private:
  Setup setup_;
  Activations activations_;
};

/// Each microbatch divides by its own tokens; means are averaged over microbatches and ranks.
class LocalMean : public Stepper {
 public:
  explicit LocalMean(const Setup& setup) : setup_(setup) {}

  void step(int64_t index, const Parameters& model, Parameters& gradient, Curve& curve) override {
    const Batches& batches = setup_.batches;
    Team& team = setup_.team;
    const auto parts = static_cast<double>(batches.window);
    double loss = 0.0;
    for (int64_t m = 0; m < batches.window; ++m) {
      const Microbatch batch = batches.part(index, team.ranks(), team.rank(), m);
      const auto tokens = static_cast<double>(batch.tokens());
      forward(model, batches.text, batch, activations_);
      backward(model, batches.text, batch, activations_, 1.0 / (tokens * parts), gradient);
      loss += exact_sum(batch, activations_.losses) / tokens;
    }
    loss /= parts * team.ranks();
    team.sum({&loss, 1});
    curve.losses.push_back(loss);
    team.sum(gradient.all());
    for (double& value : gradient.all()) {
      value /= team.ranks();
    }
  }

 private:
  Setup setup_;
  Activations activations_;
};

}  // namespace

std::unique_ptr<Stepper> make_one_process(const Setup& setup) { return std::make_unique<OneProcess>(setup); }

std::unique_ptr<Stepper> make_local_mean(const Setup& setup) { return std::make_unique<LocalMean>(setup); }

}  // namespace tokavg_tool::demo
