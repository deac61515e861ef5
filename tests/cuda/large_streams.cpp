// SPDX-License-Identifier: Apache-2.0
// Large arrays that are read from begin to end. All but the last million elements are one pattern, those another: an
// offset that lost its upper bits would find the wrong one.
#include "cuda/large.hpp"

namespace cuda_test {
namespace {

std::int64_t head_of(std::int64_t n) { return n - std::min<std::int64_t>(1000003, n / 3); }

template <typename Value>
Large head_and_tail(std::int64_t n, const std::vector<Value>& head, const std::vector<Value>& tail,
                    const Stream& stream) {
  const std::size_t between = static_cast<std::size_t>(head_of(n)) * sizeof(Value);
  const std::size_t end = static_cast<std::size_t>(n) * sizeof(Value);
  Large data(end);
  data.fill(0, between, bytes_of(head), stream);
  data.fill(between, end, bytes_of(tail), stream);
  return data;
}

// The sum of the first n values of a repeated pattern.
template <typename Value>
double sum_of(const std::vector<Value>& pattern, std::int64_t n) {
  double whole = 0;
  double part = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    whole += static_cast<double>(pattern[i]);
    if (static_cast<std::int64_t>(i) < n % static_cast<std::int64_t>(pattern.size())) part = whole;
  }
  return static_cast<double>(n / static_cast<std::int64_t>(pattern.size())) * whole + part;
}

void expect_count(const LargeTest& test, const tokavg_labels_t& labels, double expected, const char* what) {
  test.ok(tokavg_count(test.context(), &labels, test.stream().get()), "tokavg_count");
  const tokavg_result_t got = test.result(test.reduce(), TOKAVG_WAIT_COUNT);
  test.checks().equal(got.tokens[0], static_cast<std::int64_t>(expected), what);
}

}  // namespace

void large_count(const LargeTest& test, std::int64_t n) {
  constexpr std::int64_t kPeriod = 1021;
  n = test.fitting("count", n, sizeof(std::int32_t) + sizeof(std::uint8_t));
  std::vector<std::int32_t> sparse;
  std::vector<int> scored;
  for (std::int32_t i = 0; i < kPeriod; ++i) {
    sparse.push_back(i % 5 == 0 ? i : -100);
    scored.push_back(i % 5 == 0 ? 1 : 0);
  }
  const std::int64_t head = head_of(n);
  const Large data = head_and_tail(n, sparse, {7}, test.stream());
  tokavg_labels_t labels{};
  labels.struct_size = static_cast<std::uint32_t>(sizeof labels);
  labels.rows = 1;
  labels.cols = n;
  labels.labels = {data.data(), TOKAVG_DTYPE_I32, TOKAVG_MEMORY_CUDA, 0, 0};
  expect_count(test, labels, sum_of(scored, head) + static_cast<double>(n - head), "one row");

  // The first column of each row is scored, and is left out.
  labels.rows = n / kPeriod;
  labels.cols = kPeriod;
  labels.shift = 1;
  const std::int64_t seen = labels.rows * kPeriod;
  expect_count(test, labels, sum_of(scored, head) + static_cast<double>(seen - head - labels.rows), "rows, shifted");

  const Large mask = head_and_tail<std::uint8_t>(n, {1}, {0, 1}, test.stream());
  labels.rows = 1;
  labels.cols = n;
  labels.shift = 0;
  labels.mask = {mask.data(), TOKAVG_DTYPE_U8, TOKAVG_MEMORY_CUDA, 0, 0};
  expect_count(test, labels, sum_of(scored, head) + static_cast<double>((n - head) / 2), "one row with a mask");
}

// Multiples of 1/8, whose sum is exact in double.
void large_losses(const LargeTest& test, std::int64_t n) {
  n = test.fitting("losses", n, sizeof(float));
  std::vector<float> pattern;
  for (int i = 0; i < 509; ++i) pattern.push_back(static_cast<float>(i % 31) / 8);
  const Large data = head_and_tail<float>(n, pattern, {16}, test.stream());
  tokavg_loss_t loss{};
  loss.struct_size = static_cast<std::uint32_t>(sizeof loss);
  loss.kind = TOKAVG_LOSS_TOKEN_LOSSES;
  loss.rows = 1;
  loss.cols = n;
  loss.losses = {data.data(), TOKAVG_DTYPE_F32, TOKAVG_MEMORY_CUDA, 0, 0};
  test.ok(tokavg_count_add(test.context(), 0, n, 0, 1), "tokavg_count_add");
  test.ok(tokavg_loss(test.context(), TOKAVG_OPEN, &loss, test.stream().get()), "tokavg_loss");
  const tokavg_result_t got = test.result(test.reduce(), TOKAVG_WAIT_LOSS);
  const std::int64_t head = head_of(n);
  test.checks().equal(got.loss_tokens[0], n, "tokens of the losses");
  test.checks().equal(got.loss_sum[0], sum_of(pattern, head) + 16 * static_cast<double>(n - head), "sum of the losses");
}

// Halves of bfloat16 numbers are exact. What lies behind the array stays as it was.
void large_scale(const LargeTest& test, std::int64_t n) {
  n = test.fitting("scale", n, sizeof(std::uint16_t));
  std::vector<std::uint16_t> whole;
  std::vector<std::uint16_t> half;
  for (unsigned i = 0; i < 1021; ++i) {
    whole.push_back(static_cast<std::uint16_t>(0x3f80 + i));  // 1 and more
    half.push_back(static_cast<std::uint16_t>(0x3f00 + i));
  }
  const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(std::uint16_t);
  const Bytes behind(4096, 0x5a);
  const Large data(bytes + behind.size());
  data.fill(0, bytes, bytes_of(whole), test.stream());
  data.fill(bytes, bytes + behind.size(), behind, test.stream());
  test.ok(tokavg_count_add(test.context(), 0, 2, 0, 1), "tokavg_count_add");
  const tokavg_scale_item_t item = {data.data(), n, TOKAVG_DTYPE_BF16, TOKAVG_MEMORY_CUDA};
  tokavg_scale_t scale{};
  scale.struct_size = static_cast<std::uint32_t>(sizeof scale);
  scale.item_size = static_cast<std::uint32_t>(sizeof item);
  scale.items = &item;
  scale.n_items = 1;
  scale.kind = TOKAVG_FACTOR_SCALE;
  test.ok(tokavg_scale(test.context(), test.reduce(), &scale, test.stream().get()), "tokavg_scale");
  test.checks().equal(data.find_other(0, bytes, bytes_of(half), test.stream()), bytes, "first byte not halved");
  const std::size_t end = bytes + behind.size();
  test.checks().equal(data.find_other(bytes, end, behind, test.stream()), end, "first byte changed behind the array");
}

}  // namespace cuda_test
