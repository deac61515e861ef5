// SPDX-License-Identifier: Apache-2.0
#include "contract/model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/random.h"

namespace contract {
namespace {

double weight_of(int term, int row, int col) { return std::sin(1.0 + 3.7 * row + 1.3 * col + 5.1 * term); }

std::size_t at(int row, int col) { return static_cast<std::size_t>(row * kFeatures + col); }

// Labels follow the features, so that microbatches with other features have other gradients.
Token draw(std::uint64_t& random, bool ignored) {
  Token token{};
  for (double& x : token.x) x = 2 * random_unit(&random) - 1;
  token.label = ignored ? kIgnored : random_below(&random, token.x[0] > 0 ? 2 : kVocab);
  token.weight = 0.25 + random_unit(&random);
  return token;
}

Microbatch draw_batch(std::uint64_t& random, bool empty) {
  Microbatch batch;
  batch.rows = 1 + random_below(&random, 3);
  batch.cols = 2 + random_below(&random, 6);
  const double density = 0.2 + 0.8 * random_unit(&random);
  for (std::int64_t i = 0; i < batch.rows * batch.cols; ++i) {
    // The last token is scored: a batch without any would depend on luck, those that are to be empty do not.
    const bool ignored = empty || (i + 1 < batch.rows * batch.cols && random_unit(&random) > density);
    batch.tokens.push_back(draw(random, ignored));
  }
  return batch;
}

void softmax(const double* logits, double* p, double& lse) {
  const double top = *std::max_element(logits, logits + kVocab);
  double total = 0;
  for (int k = 0; k < kVocab; ++k) total += std::exp(logits[k] - top);
  lse = top + std::log(total);
  for (int k = 0; k < kVocab; ++k) p[k] = std::exp(logits[k] - lse);
}

}  // namespace

Gradient zeros() { return Gradient(static_cast<std::size_t>(kVocab * kFeatures), 0.0); }

void add(Gradient& to, const Gradient& from, double factor) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

double difference(const Gradient& a, const Gradient& b) {
  double worst = 0;
  double largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    // Written so that a NaN counts as the largest difference.
    if (!(std::fabs(a[i] - b[i]) <= worst)) worst = std::fabs(a[i] - b[i]);
    largest = std::max(largest, std::fabs(b[i]));
  }
  return largest > 0 ? worst / largest : worst;
}

Forward forward(const Microbatch& batch, int term, bool weighted) {
  Forward out;
  out.sum_gradient = zeros();
  for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
    const Token& token = batch.tokens[i];
    // A second prediction looks one token further: the first column has none.
    const bool scored = token.label != kIgnored && !(term > 0 && i % static_cast<std::size_t>(batch.cols) == 0);
    double logits[kVocab];
    double p[kVocab];
    double lse = 0;
    for (int k = 0; k < kVocab; ++k) {
      logits[k] = 0;
      for (int j = 0; j < kFeatures; ++j) logits[k] += weight_of(term, k, j) * token.x[j];
      out.logits.push_back(static_cast<float>(logits[k]));
    }
    softmax(logits, p, lse);
    out.labels.push_back(scored ? token.label : kIgnored);
    out.weights.push_back(token.weight);
    out.losses.push_back(scored ? lse - logits[token.label] : std::numeric_limits<double>::quiet_NaN());
    if (!scored) continue;
    const double w = weighted ? token.weight : 1.0;
    out.scored += 1;
    out.weight += w;
    for (int k = 0; k < kVocab; ++k) {
      const double d = w * (p[k] - (k == token.label ? 1.0 : 0.0));
      for (int j = 0; j < kFeatures; ++j) out.sum_gradient[at(k, j)] += d * token.x[j];
    }
  }
  return out;
}

Gradient backward(const Microbatch& batch, const std::vector<float>& logits_gradient) {
  Gradient gradient = zeros();
  std::size_t i = 0;
  for (const Token& token : batch.tokens) {
    for (int k = 0; k < kVocab; ++k, ++i) {
      for (int j = 0; j < kFeatures; ++j) gradient[at(k, j)] += static_cast<double>(logits_gradient[i]) * token.x[j];
    }
  }
  return gradient;
}

Cells deal(int ranks, int accumulation, int microbatches) {
  std::uint64_t random = static_cast<std::uint64_t>(1000 * ranks + 100 * accumulation + microbatches);
  Cells cells(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    for (int a = 0; a < accumulation; ++a) {
      auto& list = cells[static_cast<std::size_t>(r)].emplace_back();
      const bool none = ranks >= 3 && r == ranks - 1 && a == 0;
      for (int m = 0; m < microbatches; ++m) list.push_back(draw_batch(random, ranks >= 3 && r == ranks - 2));
      if (none) list.clear();
    }
  }
  return cells;
}

}  // namespace contract
