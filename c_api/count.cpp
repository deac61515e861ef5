// SPDX-License-Identifier: Apache-2.0
#include "base/struct_copy.hpp"
#include "c_api/arguments.hpp"
#include "c_api/guard.hpp"

using namespace tokavg;

tokavg_status_t tokavg_count(tokavg_context_t* ctx, const tokavg_labels_t* labels, tokavg_stream_t stream) noexcept {
  return guard(ctx, Blame::kOpenStep, [&](Context& context) {
    context.check_usable();
    const tokavg_labels_t given = read_struct("labels", labels);
    context.count({given.term, (given.flags & TOKAVG_LABELS_SAME_MICROBATCH) != 0,
                   view_labels(context, "labels", given), stream});
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_count_add(tokavg_context_t* ctx, int32_t term, int64_t tokens, double weight_sum,
                                 int64_t microbatches) noexcept {
  return guard(ctx, Blame::kOpenStep, [&](Context& context) {
    context.check_usable();
    check_term(context.config(), {"term"}, term);
    if (tokens < 0) fail(TOKAVG_ERR_ARGUMENT, "tokens is %lld; it must be >= 0", static_cast<long long>(tokens));
    constexpr int64_t kMostMicrobatches = (int64_t{1} << 32) - 1;
    if (microbatches < 0 || microbatches > kMostMicrobatches) {
      fail(TOKAVG_ERR_ARGUMENT, "microbatches is %lld; it must be from 0 to 2^32 - 1",
           static_cast<long long>(microbatches));
    }
    context.count_add(term, tokens, weight_sum, microbatches);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_discard(tokavg_context_t* ctx) noexcept {
  return guard(ctx, Blame::kOpenStep, [&](Context& context) {
    context.discard();
    return TOKAVG_OK;
  });
}
