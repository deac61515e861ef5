// SPDX-License-Identifier: Apache-2.0
#include "kernels/logits.hpp"

#include <cstring>

namespace tokavg_bench {

const Buffer& Logits::original() {
  if (original_.bytes() == 0) {
    original_ = Buffer(bytes_);
    fill_logits(original_, dtype_);
  }
  return original_;
}

const Buffer& Logits::copy() {
  const Buffer& from = original();
  if (copy_.bytes() == 0) {
    copy_ = Buffer(bytes_);
  }
  std::memcpy(copy_.data(), from.data(), bytes_);
  return copy_;
}

Rows::Rows(std::int64_t rows, std::int64_t vocab, std::int32_t host_threads)
    : vocab_(vocab), context_(host_threads), labels_(static_cast<std::size_t>(rows) * sizeof(std::int64_t)) {
  Random random(3);
  auto* labels = labels_.as<std::int64_t>();
  for (std::int64_t r = 0; r < rows; ++r) {
    labels[r] = random.below(vocab);
  }
  labels_view_ = labels_of(labels, rows, 1);
  context_.count(labels_view_);
  ticket_ = context_.reduce();
  context_.wait(ticket_);
}

void Rows::time_forward(benchmark::State& state, Logits& logits) const {
  double sum = 0;
  tokavg_cross_entropy_t ce = cross_entropy_of(logits.original().data(), logits.dtype(), vocab_, labels_view_);
  ce.sum_out = &sum;
  for (auto _ : state) {
    context_.cross_entropy(ticket_, ce);
  }
  set_size(state, logits.dtype());
}

void Rows::time_gradient(benchmark::State& state, Logits& logits) const {
  double sum = 0;
  for (auto _ : state) {
    state.PauseTiming();
    tokavg_cross_entropy_t ce = cross_entropy_of(logits.copy().data(), logits.dtype(), vocab_, labels_view_);
    ce.sum_out = &sum;
    ce.gradient_out = ce.logits;
    state.ResumeTiming();
    context_.cross_entropy(ticket_, ce);
  }
  set_size(state, logits.dtype());
}

void Rows::set_size(benchmark::State& state, Dtype dtype) const {
  const std::int64_t elements = labels_view_.rows * vocab_;
  tokavg_bench::set_size(state, static_cast<std::size_t>(elements) * size_of(dtype), elements);
}

}  // namespace tokavg_bench
