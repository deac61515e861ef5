// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

// The smallest model with a softmax: logits = W x, in double, with its gradient written out.
namespace contract {

inline constexpr int kFeatures = 5;
inline constexpr int kVocab = 7;
inline constexpr std::int64_t kIgnored = -100;

struct Token {
  double x[kFeatures];
  std::int64_t label;  // kIgnored: not scored
  double weight;
};

// Tokens of one microbatch: rows of sequences of one length, padded.
struct Microbatch {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<Token> tokens;
};

using Gradient = std::vector<double>;  // kVocab x kFeatures

// Everything that depends only on the microbatch: per-token losses and logits, and the gradient of the (weighted) sum.
struct Forward {
  std::vector<std::int64_t> labels;
  std::vector<double> weights;
  std::vector<double> losses;  // NaN where not scored: nobody may read them
  std::vector<float> logits;
  Gradient sum_gradient;
  double scored = 0;  // tokens
  double weight = 0;  // their sum of weights
};

// The model's weights depend on `term`, so that two terms have different gradients.
Forward forward(const Microbatch& batch, int term, bool weighted);
// dW for given d(loss)/d(logits).
Gradient backward(const Microbatch& batch, const std::vector<float>& logits_gradient);

void add(Gradient& to, const Gradient& from, double factor);
Gradient zeros();
// max |a - b| / max |b|
double difference(const Gradient& a, const Gradient& b);

// The data of one step, dealt out: cells[rank][accumulation step] is a list of microbatches. Uneven lengths; from three
// ranks on the last but one has no scored token, and the last no microbatch in its first accumulation step.
using Cells = std::vector<std::vector<std::vector<Microbatch>>>;
Cells deal(int ranks, int accumulation, int microbatches);

}  // namespace contract
