// SPDX-License-Identifier: Apache-2.0
#include "demo/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace tokavg_tool::demo {
namespace {

/// out[j] += x * row[j]: each element has its own sum, so that vector code keeps its order.
void add_scaled(double x, const double* row, double* out, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    out[j] += x * row[j];
  }
}

/// Eight partial sums by column: fast without leave to reorder, and the same order in every build.
double dot(const double* a, const double* b, std::size_t n) {
  std::array<double, 8> lanes{};
  std::size_t i = 0;
  for (; i + lanes.size() <= n; i += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] += a[i + lane] * b[i + lane];
    }
  }
  double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

using Bytes = std::array<uint8_t, kContext>;

/// Fills hidden and probabilities of one token; returns its loss.
double forward_token(const Parameters& model, const Bytes& context, std::size_t label, double* hidden,
                     double* probabilities) {
  const std::size_t width = model.hidden();
  const std::size_t embedding = model.embedding();
  std::copy_n(model.hidden_bias(), width, hidden);
  for (std::size_t i = 0; i < context.size(); ++i) {
    const double* input = model.embeddings() + context[i] * embedding;
    for (std::size_t e = 0; e < embedding; ++e) {
      add_scaled(input[e], model.hidden_weights() + (i * embedding + e) * width, hidden, width);
    }
  }
  std::transform(hidden, hidden + width, hidden, [](double x) { return std::tanh(x); });
  std::copy_n(model.output_bias(), kVocab, probabilities);
  for (std::size_t j = 0; j < width; ++j) {
    add_scaled(hidden[j], model.output_weights() + j * kVocab, probabilities, kVocab);
  }
  const double largest = *std::max_element(probabilities, probabilities + kVocab);
  const double own = probabilities[label];
  double sum = 0.0;
  for (std::size_t k = 0; k < kVocab; ++k) {
    probabilities[k] = std::exp(probabilities[k] - largest);
    sum += probabilities[k];
  }
  for (std::size_t k = 0; k < kVocab; ++k) {
    probabilities[k] /= sum;
  }
  return (largest - own) + std::log(sum);
}

/// Adds the gradient of one token; `slope` holds d(loss) / d(logits) * scale, `inner` is scratch of `hidden` values.
void backward_token(const Parameters& model, const Bytes& context, const double* hidden, const double* slope,
                    double* inner, Parameters& gradient) {
  const std::size_t width = model.hidden();
  const std::size_t embedding = model.embedding();
  add_scaled(1.0, slope, gradient.output_bias(), kVocab);
  for (std::size_t j = 0; j < width; ++j) {
    add_scaled(hidden[j], slope, gradient.output_weights() + j * kVocab, kVocab);
    inner[j] = dot(model.output_weights() + j * kVocab, slope, kVocab) * (1.0 - hidden[j] * hidden[j]);
  }
  add_scaled(1.0, inner, gradient.hidden_bias(), width);
  for (std::size_t i = 0; i < context.size(); ++i) {
    const double* input = model.embeddings() + context[i] * embedding;
    double* input_gradient = gradient.embeddings() + context[i] * embedding;
    for (std::size_t e = 0; e < embedding; ++e) {
      const std::size_t row = (i * embedding + e) * width;
      add_scaled(input[e], inner, gradient.hidden_weights() + row, width);
      input_gradient[e] += dot(model.hidden_weights() + row, inner, width);
    }
  }
}

/// Calls visit(index of the label, context, label) for every scored token, row by row.
template <class Visit>
void for_each_token(const Text& text, const Microbatch& batch, Visit visit) {
  for (int64_t row = 0; row < batch.rows; ++row) {
    const int64_t begin = batch.begins[static_cast<std::size_t>(row)];
    for (int64_t col = 0; col < batch.cols; ++col) {
      const auto index = static_cast<std::size_t>(row * batch.cols + col);
      if (batch.labels[index] != kIgnore) {
        visit(index, text.context(begin + col), static_cast<std::size_t>(batch.labels[index]));
      }
    }
  }
}

}  // namespace

Parameters::Parameters(int embedding, int hidden)
    : embedding_(static_cast<std::size_t>(embedding)), hidden_(static_cast<std::size_t>(hidden)) {
  const std::array<std::size_t, 5> sizes = {kVocab * embedding_, inputs() * hidden_, hidden_, hidden_ * kVocab, kVocab};
  offsets_[0] = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    offsets_[i + 1] = offsets_[i] + sizes[i];
  }
  values_.resize(offsets_.back());
}

Parameters Parameters::random(int embedding, int hidden, uint64_t seed) {
  Parameters model(embedding, hidden);
  std::mt19937_64 bits(seed);
  // Not std::uniform_real_distribution: its result differs between standard libraries.
  const auto fill = [&bits](double* first, std::size_t n, double width) {
    std::generate_n(first, n, [&] { return width * (static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0); });
  };
  fill(model.embeddings(), kVocab * model.embedding_, 1.0);
  fill(model.hidden_weights(), model.inputs() * model.hidden_, 1.0 / std::sqrt(static_cast<double>(model.inputs())));
  fill(model.output_weights(), model.hidden_ * kVocab, 1.0 / std::sqrt(static_cast<double>(model.hidden_)));
  return model;
}

std::vector<std::span<double>> Parameters::parts() {
  std::vector<std::span<double>> parts;
  for (std::size_t i = 0; i + 1 < offsets_.size(); ++i) {
    parts.push_back(all().subspan(offsets_[i], offsets_[i + 1] - offsets_[i]));
  }
  return parts;
}

double Parameters::norm() const { return std::sqrt(dot(values_.data(), values_.data(), values_.size())); }

void forward(const Parameters& model, const Text& text, const Microbatch& batch, Activations& out) {
  const std::size_t labels = batch.labels.size();
  out.losses.assign(labels, std::numeric_limits<double>::quiet_NaN());
  out.hidden.resize(labels * model.hidden());
  out.probabilities.resize(labels * kVocab);
  for_each_token(text, batch, [&](std::size_t index, const Bytes& context, std::size_t label) {
    out.losses[index] = forward_token(model, context, label, out.hidden.data() + index * model.hidden(),
                                      out.probabilities.data() + index * kVocab);
  });
}

void backward(const Parameters& model, const Text& text, const Microbatch& batch, const Activations& activations,
              double scale, Parameters& gradient) {
  std::array<double, kVocab> slope{};
  std::vector<double> inner(model.hidden());
  for_each_token(text, batch, [&](std::size_t index, const Bytes& context, std::size_t label) {
    const double* probabilities = activations.probabilities.data() + index * kVocab;
    for (std::size_t k = 0; k < kVocab; ++k) {
      slope[k] = scale * (probabilities[k] - (k == label ? 1.0 : 0.0));
    }
    backward_token(model, context, activations.hidden.data() + index * model.hidden(), slope.data(), inner.data(),
                   gradient);
  });
}

void descend(Parameters& model, const Parameters& gradient, double learning_rate) {
  add_scaled(-learning_rate, gradient.all().data(), model.all().data(), model.all().size());
}

}  // namespace tokavg_tool::demo
