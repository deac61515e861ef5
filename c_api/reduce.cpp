// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/struct_copy.hpp"
#include "c_api/arguments.hpp"
#include "c_api/guard.hpp"

using namespace tokavg;

namespace {

ReduceRequest read_options(const tokavg_reduce_t* options) {
  ReduceRequest request;
  if (options == nullptr) return request;
  const tokavg_reduce_t given = read_struct("options", options);
  if ((given.flags & ~static_cast<uint32_t>(TOKAVG_REDUCE_DONE | TOKAVG_REDUCE_STEP_ID)) != 0) {
    fail(TOKAVG_ERR_UNSUPPORTED,
         "options.flags is 0x%x; this version knows TOKAVG_REDUCE_DONE and TOKAVG_REDUCE_STEP_ID", given.flags);
  }
  if (!std::isfinite(given.accumulation_divisor) || given.accumulation_divisor < 0) {
    fail(TOKAVG_ERR_ARGUMENT,
         "options.accumulation_divisor is %g; it must be finite and above 0, or 0 for the config's",
         given.accumulation_divisor);
  }
  request.done = (given.flags & TOKAVG_REDUCE_DONE) != 0;
  request.has_step_id = (given.flags & TOKAVG_REDUCE_STEP_ID) != 0;
  request.step_id = request.has_step_id ? given.step_id : 0;
  request.accumulation_divisor = given.accumulation_divisor;
  return request;
}

}  // namespace

tokavg_status_t tokavg_reduce(tokavg_context_t* ctx, const tokavg_reduce_t* options, tokavg_stream_t stream,
                              tokavg_ticket_t* ticket_out) noexcept {
  if (ticket_out != nullptr) *ticket_out = 0;
  return guard(ctx, Blame::kNothing, [&](Context& context) {
    // Whatever is wrong here, the other ranks wait for this one: the step is closed as failed, then the error returned.
    ReduceRequest request;
    std::optional<Error> wrong = caught([&] {
      if (ticket_out == nullptr) fail(TOKAVG_ERR_ARGUMENT, "ticket_out is NULL; pass the address of a tokavg_ticket_t");
      request = read_options(options);
    });
    request.stream = stream;
    const tokavg_ticket_t ticket = context.reduce(request, wrong);
    if (ticket_out != nullptr) *ticket_out = ticket;
    if (wrong) throw *wrong;
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_flush(tokavg_context_t* ctx, tokavg_stream_t stream) noexcept {
  return guard(ctx, Blame::kNothing, [&](Context& context) {
    context.flush(stream);
    return TOKAVG_OK;
  });
}

tokavg_status_t tokavg_progress(tokavg_context_t* ctx) noexcept {
  return guard(ctx, Blame::kNothing, [](Context& context) {
    context.progress();
    return TOKAVG_OK;
  });
}
