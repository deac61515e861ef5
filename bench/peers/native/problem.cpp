// SPDX-License-Identifier: Apache-2.0
#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>

namespace tokavg::peers {
namespace {

constexpr float kRanks = 4;  // the trainer averages over so many ranks: the upstream gradient is not 1

std::size_t bytes(Dtype dtype, std::int64_t rows, std::int64_t vocab) {
  return static_cast<std::size_t>(rows * vocab) * (dtype == Dtype::kF32 ? 4 : 2);
}

void fill(const Buffer& logits, Dtype dtype, std::int64_t n) {
  std::minstd_rand random(1);
  // Four numbers of a table make a sum that is near enough to normal, faster than a real normal distribution.
  std::vector<float> table(4096);
  std::normal_distribution<float> normal(0.0F, 1.5F);
  for (float& x : table) x = normal(random);
  for (std::int64_t i = 0; i < n; i++) {
    const auto bits = static_cast<std::uint32_t>(random());
    const float x = table[bits & 4095] + table[(bits >> 12) & 4095];
    if (dtype == Dtype::kF32) {
      static_cast<float*>(logits.data())[i] = x;
      continue;
    }
    std::uint32_t pattern = 0;
    std::memcpy(&pattern, &x, sizeof pattern);
    static_cast<std::uint16_t*>(logits.data())[i] = static_cast<std::uint16_t>(pattern >> 16);
  }
}

void fail(const Peer& peer, const char* what, double got, double expected) {
  throw std::runtime_error(peer.about().name + " (" + peer.about().config + "): " + what + " is " +
                           std::to_string(got) + ", not " + std::to_string(expected));
}

}  // namespace

Data::Data(Dtype dtype, std::int64_t rows, std::int64_t vocab)
    : labels_(static_cast<std::size_t>(rows)),
      pristine_(bytes(dtype, rows, vocab)),
      logits_(bytes(dtype, rows, vocab)),
      problem_{dtype,          rows,          vocab, kRanks / static_cast<float>(rows), pristine_.data(),
               logits_.data(), labels_.data()} {
  fill(pristine_, dtype, rows * vocab);
  std::minstd_rand random(2);
  for (std::int64_t& label : labels_) label = static_cast<std::int64_t>(random()) % vocab;
  for (std::int64_t r = 0; r < rows; r++) {
    loss_ += lse(r) - value(pristine_.data(), r, labels_[static_cast<std::size_t>(r)]);
  }
  restore();
}

void Data::restore() const { std::memcpy(problem_.logits, problem_.pristine, problem_.bytes()); }

double Data::value(const void* array, std::int64_t row, std::int64_t k) const {
  const std::int64_t i = row * problem_.vocab + k;
  if (problem_.dtype == Dtype::kF32) return static_cast<double>(static_cast<const float*>(array)[i]);
  const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(array)[i]) << 16;
  float x = 0;
  std::memcpy(&x, &bits, sizeof x);
  return static_cast<double>(x);
}

double Data::lse(std::int64_t row) const {
  double sum = 0;
  for (std::int64_t k = 0; k < problem_.vocab; k++) sum += std::exp(value(problem_.pristine, row, k));
  return std::log(sum);
}

void Data::check_loss(const Peer& peer, double loss) const {
  if (!(std::abs(loss - loss_) <= peer.about().loss_tolerance * std::abs(loss_))) fail(peer, "the loss", loss, loss_);
}

void Data::check_gradient(const Peer& peer) const {
  const std::int64_t step = std::max<std::int64_t>(1, problem_.rows / 8);
  for (std::int64_t r = 0; r < problem_.rows; r += step) {
    const double row_lse = lse(r);
    const std::int64_t label = labels_[static_cast<std::size_t>(r)];
    double others = 0;  // the largest error and the largest gradient of the other classes
    double scale = 0;
    for (std::int64_t k = 0; k < problem_.vocab; k++) {
      const double p = std::exp(value(problem_.pristine, r, k) - row_lse);
      const double expected = (p - (k == label ? 1.0 : 0.0)) * static_cast<double>(problem_.factor);
      const double got = value(problem_.logits, r, k);
      if (k == label) {
        if (!(std::abs(got - expected) <= peer.about().gradient_tolerance * std::abs(expected))) {
          fail(peer, "the gradient of a label", got, expected);
        }
        continue;
      }
      others = std::isnan(got) ? INFINITY : std::max(others, std::abs(got - expected));
      scale = std::max(scale, expected);
    }
    if (!(others <= peer.about().gradient_tolerance * scale))
      fail(peer, "a gradient's relative error", others / scale, 0);
  }
}

}  // namespace tokavg::peers
