// SPDX-License-Identifier: Apache-2.0
// A byte-level language model: embedding of the last bytes, one hidden layer (tanh), softmax; its gradient by hand.
//
// Everything is double and computed token by token in an order that depends on the model alone, so that a token's
// loss has the same bits whichever rank and microbatch it comes in.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "demo/text.hpp"

namespace tokavg_tool::demo {

/// All parameters, or all gradients, as one vector with five named parts.
class Parameters {
 public:
  Parameters(int embedding, int hidden);
  static Parameters random(int embedding, int hidden, uint64_t seed);

  [[nodiscard]] std::size_t embedding() const { return embedding_; }
  [[nodiscard]] std::size_t hidden() const { return hidden_; }
  [[nodiscard]] std::size_t inputs() const { return embedding_ * kContext; }
  [[nodiscard]] std::span<double> all() { return values_; }
  [[nodiscard]] std::span<const double> all() const { return values_; }

  double* embeddings() { return values_.data() + offsets_[0]; }      ///< kVocab x embedding
  double* hidden_weights() { return values_.data() + offsets_[1]; }  ///< inputs x hidden
  double* hidden_bias() { return values_.data() + offsets_[2]; }
  double* output_weights() { return values_.data() + offsets_[3]; }  ///< hidden x kVocab
  double* output_bias() { return values_.data() + offsets_[4]; }
  [[nodiscard]] const double* embeddings() const { return values_.data() + offsets_[0]; }
  [[nodiscard]] const double* hidden_weights() const { return values_.data() + offsets_[1]; }
  [[nodiscard]] const double* hidden_bias() const { return values_.data() + offsets_[2]; }
  [[nodiscard]] const double* output_weights() const { return values_.data() + offsets_[3]; }
  [[nodiscard]] const double* output_bias() const { return values_.data() + offsets_[4]; }

  /// The parts, as a trainer would hold its tensors.
  [[nodiscard]] std::vector<std::span<double>> parts();
  /// Euclidean norm.
  [[nodiscard]] double norm() const;

 private:
  std::size_t embedding_;
  std::size_t hidden_;
  std::array<std::size_t, 6> offsets_;
  std::vector<double> values_;
};

/// What the forward pass of a microbatch leaves for its backward pass.
struct Activations {
  std::vector<double> losses;         ///< rows x cols; NaN where not scored: nobody may read those
  std::vector<double> hidden;         ///< per label, `hidden` values
  std::vector<double> probabilities;  ///< per label, kVocab values
};

/// Losses of all scored tokens of a microbatch.
void forward(const Parameters& model, const Text& text, const Microbatch& batch, Activations& out);

/// Adds scale * d(sum of the losses) to `gradient`.
void backward(const Parameters& model, const Text& text, const Microbatch& batch, const Activations& activations,
              double scale, Parameters& gradient);

/// One step of stochastic gradient descent.
void descend(Parameters& model, const Parameters& gradient, double learning_rate);

}  // namespace tokavg_tool::demo
