// SPDX-License-Identifier: Apache-2.0
// Not a time: the largest error of cross entropy against the same formula in long double, as the counter `worst`.
#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/calls.hpp"
#include "kernels/groups.hpp"

namespace tokavg_bench {
namespace {

constexpr std::int64_t kVocab = 5000;
constexpr std::int64_t kLabel = 1234;

// As at the begin of a training; as after it; nearly certain, and right or wrong.
struct Kind {
  float deviation;
  float label_above_from, label_above_to;  // how far the label's logit is above the mean of the others
};
constexpr Kind kKinds[] = {{1, 0, 0}, {4, -8, 8}, {1, 8, 24}, {1, -24, -8}};

float read(const Buffer& buffer, Dtype dtype, std::int64_t at) {
  if (dtype == Dtype::kF32) {
    return buffer.as<float>()[at];
  }
  return std::bit_cast<float>(static_cast<std::uint32_t>(buffer.as<std::uint16_t>()[at]) << 16);
}

void fill_row(const Buffer& logits, Dtype dtype, std::int64_t row, std::mt19937_64& random) {
  const Kind& kind = kKinds[row % static_cast<std::int64_t>(std::size(kKinds))];
  std::normal_distribution<float> others(0, kind.deviation);
  std::uniform_real_distribution<float> above(kind.label_above_from, kind.label_above_to);
  for (std::int64_t k = 0; k < kVocab; ++k) {
    const float x = others(random) + (k == kLabel ? above(random) : 0.0F);
    store(x, dtype, logits.as<std::byte>() + static_cast<std::size_t>(row * kVocab + k) * size_of(dtype));
  }
}

// With s = sum of exp(x_k - x_y) over k != y: the loss is log(1 + s), its slope at the label -s / (1 + s). No digit
// cancels.
long double sum_of_others(const Buffer& logits, Dtype dtype, std::int64_t row) {
  const long double label = read(logits, dtype, row * kVocab + kLabel);
  long double sum = 0;
  for (std::int64_t k = 0; k < kVocab; ++k) {
    if (k != kLabel) {
      sum += std::exp(static_cast<long double>(read(logits, dtype, row * kVocab + k)) - label);
    }
  }
  return sum;
}

double relative_error(float got, long double exact) {
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / std::fabs(exact));
}

// Of the losses, or of the gradient's value at the label.
double worst_error(Dtype dtype, std::int64_t rows, bool of_gradient) {
  const Context context;
  const Buffer logits(static_cast<std::size_t>(rows * kVocab) * size_of(dtype));
  std::mt19937_64 random(6);
  std::vector<long double> others;
  for (std::int64_t row = 0; row < rows; ++row) {
    fill_row(logits, dtype, row, random);
    others.push_back(sum_of_others(logits, dtype, row));
  }
  const std::vector<std::int64_t> labels(static_cast<std::size_t>(rows), kLabel);
  std::vector<float> losses(labels.size());
  const tokavg_labels_t view = labels_of(labels.data(), rows, 1);
  tokavg_cross_entropy_t ce = cross_entropy_of(logits.data(), dtype, kVocab, view);
  ce.losses_out.data = losses.data();
  ce.losses_out.dtype = TOKAVG_DTYPE_F32;
  if (of_gradient) {
    ce.gradient_out = ce.logits;
  }
  context.cross_entropy(TOKAVG_OPEN, ce);
  double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const long double s = others[static_cast<std::size_t>(row)];
    const double error = of_gradient ? relative_error(read(logits, dtype, row * kVocab + kLabel), -s / (1 + s))
                                     : relative_error(losses[static_cast<std::size_t>(row)], std::log1p(s));
    // Not std::max, which would drop a NaN.
    worst = error <= worst || std::isnan(worst) ? worst : error;
  }
  return worst;
}

void add_error(const Plan& plan, const char* what, Dtype dtype, bool of_gradient) {
  const std::int64_t rows = plan.quick ? 20 : 400;
  add({"accuracy", what, name_of(dtype), std::to_string(kVocab)},
      [=](benchmark::State& state) {
        double worst = 0;
        for (auto _ : state) {
          worst = worst_error(dtype, rows, of_gradient);
        }
        state.counters["worst"] = worst;
        set_size(state, static_cast<std::size_t>(rows * kVocab) * size_of(dtype), rows * kVocab);
      })
      ->Iterations(1)
      ->Repetitions(1);
}

}  // namespace

void add_accuracy(const Plan& plan) {
  add_error(plan, "loss", Dtype::kF32, false);
  add_error(plan, "loss", Dtype::kBf16, false);
  add_error(plan, "gradient", Dtype::kF32, true);
  add_error(plan, "gradient", Dtype::kBf16, true);
}

}  // namespace tokavg_bench
