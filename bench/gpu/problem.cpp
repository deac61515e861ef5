// SPDX-License-Identifier: Apache-2.0
#include "gpu/problem.hpp"

#include "kernels/calls.hpp"

namespace tokavg_bench {
namespace {

constexpr std::int64_t kRowsOfPattern = 13;

Buffer logits_of(Dtype dtype, std::int64_t rows, std::int64_t vocab) {
  Buffer pattern(static_cast<std::size_t>(std::min(rows, kRowsOfPattern) * vocab) * size_of(dtype));
  fill_logits(pattern, dtype);
  return pattern;
}

// None of them -100: an ignored row is not read.
Buffer labels_of_rows(std::int64_t rows, std::int64_t vocab) {
  Buffer labels(static_cast<std::size_t>(rows) * sizeof(std::int64_t));
  Random random(3);
  for (std::int64_t row = 0; row < rows; ++row) {
    labels.as<std::int64_t>()[row] = random.below(vocab);
  }
  return labels;
}

}  // namespace

Problem::Problem(const Plan& plan, Dtype dtype, std::int64_t vocab)
    : plan_(plan),
      dtype_(dtype),
      vocab_(vocab),
      rows_(plan.rows(vocab, size_of(dtype))),
      original_(logits_of(dtype, rows_, vocab), static_cast<std::size_t>(rows_ * vocab) * size_of(dtype), *plan.stream),
      work_(original_.bytes()),
      labels_(labels_of_rows(rows_, vocab), static_cast<std::size_t>(rows_) * sizeof(std::int64_t), *plan.stream),
      losses_(static_cast<std::size_t>(rows_) * sizeof(float)),
      sum_(sizeof(std::uint32_t)),
      label_view_(labels_on_gpu(labels_, TOKAVG_DTYPE_I64, rows_, 1)) {
  plan.rank->count(label_view_, *plan.stream);
  after_backward_ = plan.rank->reduce(*plan.stream);
  plan.rank->count(label_view_, *plan.stream);
  ticket_ = plan.rank->reduce(*plan.stream);
  plan.rank->wait(ticket_, TOKAVG_WAIT_COUNT);
}

std::string Problem::end_of_name() const { return std::string("/") + name_of(dtype_) + "/" + std::to_string(vocab_); }

tokavg_cross_entropy_t Problem::call(const tokavg_cross_entropy_t& options) const {
  tokavg_cross_entropy_t ce = options;
  ce.struct_size = sizeof ce;
  ce.vocab = vocab_;
  ce.labels = &label_view_;
  ce.losses_out = array_on_gpu(losses_, TOKAVG_DTYPE_F32);
  return ce;
}

void Problem::forward() const {
  tokavg_cross_entropy_t ce = call({});
  ce.logits = array_on_gpu(original_, constant_of(dtype_));
  plan_.rank->cross_entropy(ticket_, ce, *plan_.stream);
}

void Problem::gradient_on(tokavg_ticket_t ticket, const tokavg_cross_entropy_t& options) const {
  tokavg_cross_entropy_t ce = call(options);
  ce.logits = array_on_gpu(work_, constant_of(dtype_));
  ce.gradient_out = ce.logits;
  plan_.rank->cross_entropy(ticket, ce, *plan_.stream);
}

void Problem::two_passes() const {
  open_gradient();
  const tokavg_scale_item_t item = {work_.data(), elements(), constant_of(dtype_), TOKAVG_MEMORY_CUDA};
  tokavg_scale_t scale{};
  scale.struct_size = sizeof scale;
  scale.item_size = sizeof item;
  scale.items = &item;
  scale.n_items = 1;
  scale.kind = TOKAVG_FACTOR_SCALE;
  plan_.rank->scale(after_backward_, scale, *plan_.stream);
}

}  // namespace tokavg_bench
