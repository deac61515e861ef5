// SPDX-License-Identifier: Apache-2.0
#include "bench/modes.hpp"

#include <algorithm>
#include <random>

#include "bench/timing.hpp"
#include "common/failure.hpp"

namespace tokavg_tool::bench {
namespace {

constexpr int kWarmUpSteps = 3;
constexpr int64_t kTokens = 8192;  ///< of each rank and step; only the message matters here

/// A rank that sleeps instead of computing and talks to the others as a trainer does.
class Trainer {
 public:
  Trainer(const Options& options, const Mpi& mpi, const Context* context)
      : mpi_(mpi), context_(context), gradient_(static_cast<std::size_t>(options.gradient)) {}

  /// One step; returns the seconds inside calls that wait for the counts.
  double step(Mode mode, double forward, double backward) {
    waited_ = 0.0;
    before_forward(mode);
    compute(forward);
    after_forward(mode);
    compute(backward);
    mpi_.sum(gradient_);
    after_gradient(mode);
    return waited_;
  }

 private:
  void before_forward(Mode mode) {
    if (mode == Mode::kIallreduce) {
      mpi_.start_sum_counts(counts_, sums_);
    } else if (mode == Mode::kTokavgPre) {
      count();
      reduce();
    } else if (mode == Mode::kTokavgPost) {
      count();
    }
  }

  void after_forward(Mode mode) {
    if (mode == Mode::kBlocking) {
      sums_ = counts_;
      wait([this] { mpi_.sum_counts(sums_); });
    } else if (mode == Mode::kIallreduce) {
      wait([this] { mpi_.wait(); });
    } else if (mode == Mode::kTokavgPre) {
      wait([this] { context_->factor(ticket_); });
    } else if (mode == Mode::kTokavgPost) {
      reduce();
    }
  }

  void after_gradient(Mode mode) {
    if (mode == Mode::kTokavgPost) {
      wait([this] { context_->factor(ticket_); });
    }
  }

  void count() { context_->check(tokavg_count_add(context_->get(), 0, kTokens, 0.0, 1), "tokavg_count_add"); }

  void reduce() {
    wait([this] { ticket_ = context_->reduce(++steps_); });
  }

  template <class Call>
  void wait(Call call) {
    waited_ += seconds_of(call);
  }

  static void compute(double seconds) { sleep_until(after(Clock::now(), seconds)); }

  const Mpi& mpi_;
  const Context* const context_;
  std::vector<double> gradient_;
  std::array<int64_t, 2> counts_ = {kTokens, 1};
  std::array<int64_t, 2> sums_{};
  tokavg_ticket_t ticket_ = 0;
  int64_t steps_ = 0;
  double waited_ = 0.0;
};

/// The order of the modes is the same on every rank, the jitter differs.
class Chance {
 public:
  Chance(double jitter, int rank) : common_(7), own_(100U + static_cast<unsigned>(rank)), width_(-jitter, jitter) {}

  void shuffle(std::span<Mode> modes) { std::ranges::shuffle(modes, common_); }
  double around(double value) { return value * (1.0 + width_(own_)); }

 private:
  std::mt19937_64 common_;
  std::mt19937_64 own_;
  std::uniform_real_distribution<double> width_;
};

/// Step and waiting time of each mode, by mode.
using Row = std::array<double, 2 * kModeCount>;

Row run_step(const Options& options, const Mpi& mpi, std::span<const Mode> modes, Chance& chance, Trainer& trainer) {
  std::vector<Mode> order(modes.begin(), modes.end());
  chance.shuffle(order);
  const double forward = chance.around(options.forward_ms * 1e-3);
  const double backward = chance.around(options.backward_ms * 1e-3);
  Row row{};
  for (const Mode mode : order) {
    mpi.barrier();
    const Clock::time_point begin = Clock::now();
    const double waited = trainer.step(mode, forward, backward);
    const auto at = static_cast<std::size_t>(mode);
    row[2 * at] = seconds_between(begin, Clock::now());
    row[2 * at + 1] = waited;
  }
  mpi.max(row);
  return row;
}

}  // namespace

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::kOffAlone: return "off_alone";
    case Mode::kOff: return "off";
    case Mode::kOffAgain: return "off_again";
    case Mode::kBlocking: return "blocking";
    case Mode::kIallreduce: return "iallreduce";
    case Mode::kTokavgPre: return "tokavg_pre";
    case Mode::kTokavgPost: return "tokavg_post";
  }
  throw Failure("no such mode");
}

void run_modes(const Options& options, const Mpi& mpi, const Context* context, std::span<const Mode> modes,
               AllSamples& samples, Progress& progress) {
  request_exact_sleep();
  Trainer trainer(options, mpi, context);
  Chance chance(options.jitter, mpi.rank());
  progress.begin(context == nullptr ? "without tokavg" : "modes", options.steps);
  for (int step = -kWarmUpSteps; step < options.steps; ++step) {
    const Row row = run_step(options, mpi, modes, chance, trainer);
    if (step < 0) {
      continue;
    }
    for (const Mode mode : modes) {
      const auto at = static_cast<std::size_t>(mode);
      samples[mode].step_seconds.push_back(row[2 * at]);
      samples[mode].wait_seconds.push_back(row[2 * at + 1]);
    }
    progress.step(step + 1);
  }
  progress.end();
}

}  // namespace tokavg_tool::bench
