// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "core/context.hpp"

namespace tokavg {

void Context::check_counting() const {
  if (settings_.config.asks_only != 0) {
    fail(TOKAVG_ERR_STATE, "this rank has config.asks_only = 1: it holds no labels and may not count or record losses");
  }
  if (done_) fail(TOKAVG_ERR_STATE, "this rank said TOKAVG_REDUCE_DONE: it has no data any more and may not count");
}

// Counted by the host: the device has to know where one ends that may be dropped.
void Context::begin_microbatches(std::uint64_t microbatches) {
  open_.begin(microbatches);
  if (streams_ && microbatches != 0) streams_->begin_microbatch();
}

void Context::count(const CountRequest& request) {
  check_usable();
  check_counting();
  if (request.same_microbatch && !open_.has_microbatch()) {
    fail(TOKAVG_ERR_STATE,
         "labels.flags has TOKAVG_LABELS_SAME_MICROBATCH, but no microbatch was begun in this step; count "
         "the first labels of a microbatch without the flag");
  }
  const bool begins = !request.same_microbatch;
  if (request.labels.labels.on_device) {
    check_process();
    open_.begin(begins ? 1 : 0);
    streams_->count(request.labels, request.term, begins, request.stream);
    return;
  }
  const Counted counted = device_->count(request.labels);
  begin_microbatches(begins ? 1 : 0);
  open_.add(request.term, static_cast<std::uint64_t>(counted.tokens),
            static_cast<std::uint64_t>(counted.weighted_tokens), counted.weights);
}

void Context::count_add(std::int32_t term, std::int64_t tokens, double weight_sum, std::int64_t microbatches) {
  check_usable();
  check_counting();
  if (!(std::fabs(weight_sum) <= kSumLimit) || (rule_.weights_divide && weight_sum < 0)) {
    fail(TOKAVG_ERR_WEIGHT, "weight_sum is %g; it must be finite, at most 2^54 in magnitude%s", weight_sum,
         rule_.weights_divide ? ", and not negative where weights are the divisor" : "");
  }
  if (tokens == 0 && weight_sum != 0) {
    fail(TOKAVG_ERR_ARGUMENT, "weight_sum is %g although tokens is 0; no token has a weight", weight_sum);
  }
  if (microbatches == 0 && !open_.has_microbatch()) {
    fail(TOKAVG_ERR_STATE,
         "microbatches is 0, but no microbatch was begun in this step that the tokens could belong to; pass 1 with the "
         "first counts of a microbatch");
  }
  begin_microbatches(static_cast<std::uint64_t>(microbatches));
  FixedSum weights;
  weights.add(weight_sum);
  open_.add(term, static_cast<std::uint64_t>(tokens), weight_sum != 0 ? static_cast<std::uint64_t>(tokens) : 0,
            weights);
}

void Context::discard() {
  check_usable();
  check_counting();
  open_.discard();
  if (streams_) streams_->drop_microbatch();
}

}  // namespace tokavg
