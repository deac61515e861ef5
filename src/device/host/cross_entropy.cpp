// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "device/host/kernels.hpp"
#include "device/host/tokens.hpp"
#include "device/host/values.hpp"

namespace tokavg::host {
namespace {

// What the gradient needs to know of one logits row. x are the logits, capped where there is a cap.
//
// A NaN logit makes all of it NaN, and so does an infinite largest logit: the differences are then undefined.
struct Row {
  std::size_t label = 0;
  std::size_t largest = 0;
  double lse = 0;
  double loss = 0;
  double exp_sum = 0;         // of exp(x_k - max x)
  double exp_sum_others = 0;  // the same without the label's, so that p_y - 1 loses no digits where p_y is near 1
};

// The first class with the largest logit. NaN is larger than nothing.
std::size_t first_largest(std::span<const double> logits) {
  std::size_t largest = 0;
  for (std::size_t k = 1; k < logits.size(); ++k) {
    if (logits[k] > logits[largest] || (std::isnan(logits[largest]) && !std::isnan(logits[k]))) largest = k;
  }
  return largest;
}

class CrossEntropyRows {
 public:
  explicit CrossEntropyRows(const CrossEntropy& ce)
      : ce_(ce), tokens_(ce.labels), losses_(ce.losses), lse_(ce.lse), argmax_(ce.argmax) {
    tokens_.check_labels(ce.vocab);
    tokens_.check_weights();
    logits_.resize(static_cast<std::size_t>(ce.vocab));
    x_.resize(logits_.size());
    exp_.resize(logits_.size());
  }

  Recorded run() {
    const LabelsView& labels = ce_.labels;
    const std::int64_t unscored = std::min(labels.shift, labels.cols);  // labels at the left, logits rows at the right
    for (std::int64_t r = 0; r < labels.rows; ++r) {
      for (std::int64_t c = 0; c < unscored; ++c) losses_.set(r, c, 0.0F);
      for (std::int64_t j = labels.cols - unscored; j < labels.cols; ++j) blank(r, j);
      for (std::int64_t j = 0; j < labels.cols - unscored; ++j) {
        if (tokens_.scored(r, j + labels.shift)) {
          score(r, j);
        } else {
          blank(r, j);
          losses_.set(r, j + labels.shift, 0.0F);
        }
      }
    }
    return recorded_;
  }

 private:
  void* at(const ArrayView& array, std::int64_t r, std::int64_t j) const {
    const std::int64_t element = r * array.row_stride + j * array.col_stride;
    return static_cast<std::byte*>(array.data) + element * static_cast<std::int64_t>(size_of(array.dtype));
  }

  // A logits row that is not read.
  void blank(std::int64_t r, std::int64_t j) {
    if (ce_.gradient) store_zeros(ce_.vocab, ce_.gradient.dtype, at(ce_.gradient, r, j));
    lse_.set(r, j, 0.0F);
    argmax_.set(r, j, -1);
  }

  void score(std::int64_t r, std::int64_t j) {
    const std::int64_t c = j + ce_.labels.shift;
    load(at(ce_.logits, r, j), ce_.logits.dtype, logits_);
    const Row row = evaluate(static_cast<std::size_t>(tokens_.label(r, c) - ce_.labels.label_base));
    const auto loss = static_cast<float>(row.loss);
    const double w = tokens_.weight(r, c);
    record(w, static_cast<double>(loss), recorded_);
    losses_.set(r, c, loss);
    lse_.set(r, j, static_cast<float>(row.lse));
    argmax_.set(r, j, static_cast<std::int32_t>(row.largest) + ce_.labels.label_base);
    if (ce_.gradient) write_gradient(row, w * ce_.factor, at(ce_.gradient, r, j));
  }

  // Fills x_ and exp_ from logits_. A part of the loss whose coefficient is 0 is left out: 0 * infinity would be NaN.
  Row evaluate(std::size_t label) {
    Row row;
    row.label = label;
    row.largest = first_largest(logits_);
    for (std::size_t k = 0; k < x_.size(); ++k) {
      x_[k] = ce_.softcap != 0 ? ce_.softcap * std::tanh(logits_[k] / ce_.softcap) : logits_[k];
    }
    const double max = x_[row.largest];
    double below_largest = max - max;  // 0, or NaN where the largest is not finite
    double x_sum = 0;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      exp_[k] = std::exp(x_[k] - max);
      if (k != row.largest) below_largest += exp_[k];
      if (k != label) row.exp_sum_others += exp_[k];
      x_sum += x_[k];
    }
    row.exp_sum = 1 + below_largest;
    const double log_sum = std::log1p(below_largest);  // lse - max, with all digits where one class is certain
    row.lse = max + log_sum;
    const double e = ce_.label_smoothing;
    if (e != 1) row.loss += (1 - e) * (log_sum + (max - x_[label]));
    if (e != 0) row.loss += e * (log_sum + (max - x_sum / static_cast<double>(ce_.vocab)));
    if (ce_.z_loss != 0) row.loss += ce_.z_loss * row.lse * row.lse;
    return row;
  }

  // dl/dx_k = p_k - (1 - e) [k = y] - e / V + 2 z lse p_k, and dx_k/dlogit_k = 1 - tanh^2 = 1 / cosh^2 under a cap.
  void write_gradient(const Row& row, double scale, void* gradient) {
    if (scale == 0) return store_zeros(ce_.vocab, ce_.gradient.dtype, gradient);  // also over NaN
    const double e = ce_.label_smoothing;
    for (std::size_t k = 0; k < x_.size(); ++k) {
      const double p = exp_[k] / row.exp_sum;
      double slope = k == row.label ? e - row.exp_sum_others / row.exp_sum : p;
      if (e != 0) slope -= e / static_cast<double>(ce_.vocab);
      if (ce_.z_loss != 0) slope += 2 * ce_.z_loss * row.lse * p;
      if (ce_.softcap != 0) {
        const double sech = 1 / std::cosh(logits_[k] / ce_.softcap);
        slope *= sech * sech;
      }
      x_[k] = slope * scale;
    }
    store(x_, ce_.gradient.dtype, gradient);
  }

  const CrossEntropy& ce_;
  Tokens tokens_;
  Output<float> losses_;
  Output<float> lse_;
  Output<std::int32_t> argmax_;
  std::vector<double> logits_;
  std::vector<double> x_;
  std::vector<double> exp_;
  Recorded recorded_;
};

}  // namespace

Recorded cross_entropy(const CrossEntropy& ce) { return CrossEntropyRows(ce).run(); }

}  // namespace tokavg::host
