// SPDX-License-Identifier: Apache-2.0
#include "base/struct_copy.hpp"
#include "c_api/arguments.hpp"
#include "c_api/guard.hpp"

using namespace tokavg;

tokavg_status_t tokavg_wait(tokavg_context_t* ctx, tokavg_ticket_t ticket, int32_t what, int64_t timeout_ms,
                            tokavg_result_t* result_out) noexcept {
  return guard(ctx, Blame::kNothing, [&](Context& context) {
    check_kind({"what"}, what, TOKAVG_WAIT_COUNT, TOKAVG_WAIT_LOSS, "TOKAVG_WAIT_");
    if (timeout_ms < -1) {
      fail(TOKAVG_ERR_ARGUMENT,
           "timeout_ms is %lld; it must be 0 (ask), above 0 (wait so long) or -1 (until the deadline)",
           static_cast<long long>(timeout_ms));
    }
    if (result_out == nullptr) return context.wait(ticket, what, timeout_ms, nullptr);
    const uint32_t their_size = read_struct_size("result_out", result_out);
    tokavg_result_t result{};
    // Also when the step failed: the counts, and who failed, are then worth knowing.
    struct WriteAtEnd {
      const tokavg_result_t& from;
      uint32_t size;
      tokavg_result_t* to;
      ~WriteAtEnd() {
        if (from.ticket != 0) write_struct(from, size, to);
      }
    };
    const WriteAtEnd written{result, their_size, result_out};
    return context.wait(ticket, what, timeout_ms, &result);
  });
}

tokavg_status_t tokavg_factor(tokavg_context_t* ctx, tokavg_ticket_t ticket, int32_t term, int32_t kind,
                              double* factor_out) noexcept {
  return guard(ctx, Blame::kNothing, [&](Context& context) {
    if (factor_out == nullptr) fail(TOKAVG_ERR_ARGUMENT, "factor_out is NULL; pass the address of a double");
    check_term(context.config(), {"term"}, term);
    check_kind({"kind"}, kind, TOKAVG_FACTOR_SCALE, TOKAVG_FACTOR_MICROBATCH, "TOKAVG_FACTOR_");
    *factor_out = context.factor(ticket, term, kind);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_factor_device(tokavg_context_t* ctx, tokavg_ticket_t ticket, int32_t term, int32_t kind,
                                     tokavg_stream_t stream, const float** factor_out) noexcept {
  return guard(ctx, Blame::kNothing, [&](Context& context) {
    if (factor_out == nullptr) fail(TOKAVG_ERR_ARGUMENT, "factor_out is NULL; pass the address of a pointer");
    check_term(context.config(), {"term"}, term);
    check_kind({"kind"}, kind, TOKAVG_FACTOR_SCALE, TOKAVG_FACTOR_MICROBATCH, "TOKAVG_FACTOR_");
    *factor_out = context.factor_device(ticket, term, kind, stream);
    return TOKAVG_OK;
  });
}
