// SPDX-License-Identifier: Apache-2.0
// More logits than 32 bits count, the gradient in place. Rows repeat, and so must their losses and gradients, bit for
// bit: those of the first rows alone say which, and a plain loop that these are right.
#include <cmath>

#include "cuda/large.hpp"

namespace cuda_test {
namespace {

constexpr std::int64_t kRowsOfPattern = 7;

// Multiples of 1/16 from -4 to 4: bfloat16 holds them too.
std::vector<float> logits_of_pattern(std::int64_t vocab) {
  std::vector<float> logits;
  for (std::int64_t i = 0; i < kRowsOfPattern * vocab; ++i) {
    logits.push_back(static_cast<float>(i * 2654435761 % 4093 % 129) / 16 - 4);
  }
  return logits;
}

std::vector<std::int64_t> labels_of_pattern(std::int64_t vocab) {
  return {0, vocab - 1, -100, vocab / 2, 3, vocab / 3, vocab - 2};
}

Bytes stored(const std::vector<float>& values, std::int32_t dtype) {
  const Bytes all = bytes_of(values);
  if (dtype == TOKAVG_DTYPE_F32) return all;
  Bytes upper;
  for (std::size_t i = 0; i < all.size(); i += 4) upper.insert(upper.end(), {all[i + 2], all[i + 3]});
  return upper;
}

double plain_loss(const float* row, std::int64_t vocab, std::int64_t label) {
  if (label == -100) return 0;
  double sum = 0;
  for (std::int64_t k = 0; k < vocab; ++k) sum += std::exp(static_cast<double>(row[k]));
  return std::log(sum) - static_cast<double>(row[label]);
}

// `rows` rows of the pattern with their labels, after one call.
class Rows {
 public:
  Rows(const LargeTest& test, std::int64_t rows, std::int64_t vocab, std::int32_t dtype, const Bytes& pattern)
      : rows_(static_cast<std::size_t>(rows)),
        row_bytes_(pattern.size() / kRowsOfPattern),
        logits_(rows_ * row_bytes_),
        labels_(rows_ * sizeof(std::int64_t)),
        losses_(rows_ * sizeof(float)) {
    logits_.fill(0, rows_ * row_bytes_, pattern, test.stream());
    labels_.fill(0, rows_ * sizeof(std::int64_t), bytes_of(labels_of_pattern(vocab)), test.stream());
    tokavg_labels_t labels{};
    labels.struct_size = static_cast<std::uint32_t>(sizeof labels);
    labels.rows = rows;
    labels.cols = 1;
    labels.labels = {labels_.data(), TOKAVG_DTYPE_I64, TOKAVG_MEMORY_CUDA, 0, 0};
    test.ok(tokavg_count_add(test.context(), 0, 3, 0, 1), "tokavg_count_add");  // the same factor for all
    tokavg_cross_entropy_t ce{};
    ce.struct_size = static_cast<std::uint32_t>(sizeof ce);
    ce.logits = {logits_.data(), dtype, TOKAVG_MEMORY_CUDA, 0, 0};
    ce.vocab = vocab;
    ce.labels = &labels;
    ce.gradient_out = ce.logits;
    ce.losses_out = {losses_.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA, 0, 0};
    test.ok(tokavg_cross_entropy(test.context(), test.reduce(), &ce, test.stream().get()), "tokavg_cross_entropy");
    test.stream().wait();
  }

  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t row_bytes() const { return row_bytes_; }
  [[nodiscard]] const Large& gradient() const { return logits_; }
  [[nodiscard]] const Large& losses() const { return losses_; }

 private:
  std::size_t rows_;
  std::size_t row_bytes_;
  Large logits_;
  Large labels_;
  Large losses_;
};

Bytes read(const Large& from, std::size_t bytes) {
  Bytes to(bytes);
  must(cudaMemcpy(to.data(), from.data(), bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
  return to;
}

void compare(const LargeTest& test, std::int64_t n, std::int64_t vocab, std::int32_t dtype) {
  const std::vector<float> logits = logits_of_pattern(vocab);
  const Bytes pattern = stored(logits, dtype);
  const Rows few(test, kRowsOfPattern, vocab, dtype, pattern);
  const Bytes losses = read(few.losses(), kRowsOfPattern * sizeof(float));
  for (std::int64_t row = 0; row < kRowsOfPattern; ++row) {
    float got = 0;
    std::memcpy(&got, &losses[static_cast<std::size_t>(row) * sizeof got], sizeof got);
    const std::int64_t label = labels_of_pattern(vocab)[static_cast<std::size_t>(row)];
    const double expected = plain_loss(&logits[static_cast<std::size_t>(row * vocab)], vocab, label);
    test.checks().expect(std::fabs(static_cast<double>(got) - expected) <= 1e-6 * expected,
                         "loss of row " + std::to_string(row) + ": " + std::to_string(got));
  }
  const std::size_t element = dtype == TOKAVG_DTYPE_F32 ? 4 : 2;
  n = test.fitting("cross entropy", std::max(n, 2 * kRowsOfPattern * vocab), element);
  const Rows many(test, n / vocab, vocab, dtype, pattern);
  const std::size_t end = many.rows() * sizeof(float);
  test.checks().equal(many.losses().find_other(0, end, losses, test.stream()), end, "first byte of a wrong loss");
  const std::size_t bytes = many.rows() * many.row_bytes();
  const Bytes gradient = read(few.gradient(), kRowsOfPattern * few.row_bytes());
  test.checks().equal(many.gradient().find_other(0, bytes, gradient, test.stream()), bytes,
                      "first byte of a wrong gradient");
}

}  // namespace

void large_cross_entropy(const LargeTest& test, std::int64_t n) {
  constexpr std::int64_t kEven = 128256;
  constexpr std::int64_t kOdd = 50257;
  compare(test, n + kEven, kEven, TOKAVG_DTYPE_BF16);
  compare(test, n + kOdd, kOdd, TOKAVG_DTYPE_F32);
}

}  // namespace cuda_test
