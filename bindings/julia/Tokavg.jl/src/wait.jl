# SPDX-License-Identifier: Apache-2.0
# Nothing here keeps a thread for longer than a millisecond at a time: other tasks run in between, the garbage collector at any
# time.

const NO_RESULT = Ptr{LibTokavg.tokavg_result_t}(C_NULL)
const QUICK_ASKS = 32

# Losses that nobody has sent will not come by waiting; only the text tells them from those on their way.
will_not_come(ctx::Context) = occursin("tokavg_flush", last_error(ctx))

function poll(ctx::Context, id::Int64, what::Int32, timeout_ms, out::Ptr)
    asked = 0
    end_ns = timeout_ms === nothing ? typemax(UInt64) : time_ns() + UInt64(1_000_000) * UInt64(timeout_ms)
    while true
        # The library notices a completion at once, which a sleeping task does not.
        slice_ms = asked < QUICK_ASKS || timeout_ms == 0 ? Int64(0) : Int64(1)
        status = LibTokavg.tokavg_wait(ctx.handle, id, what, slice_ms, out)
        ctx.log === nothing || hand_over(ctx.log)
        status == LibTokavg.TOKAVG_PENDING && time_ns() < end_ns || return status
        what == LibTokavg.TOKAVG_WAIT_LOSS && will_not_come(ctx) && return status
        asked += 1
        # Not sleep: the first thread serves all timers, and may itself be inside finalize!.
        yield()
    end
end

# For calls that the library would let wait for the counts. If the step has failed, the call itself says so.
function settle(ctx::Context, id::Int64)
    id <= ctx.complete && return
    status = poll(ctx, id, LibTokavg.TOKAVG_WAIT_COUNT, nothing, NO_RESULT)
    status >= 0 && (ctx.complete = max(ctx.complete, id))
    return
end

"""
    wait(ticket; until=:count, timeout_ms=nothing) -> Result

Waits for the counts of a step, or with `until=:loss` also for the losses of all ranks, and reads it. `timeout_ms=0` only asks;
without it the context's deadline holds. The status of the result is `:ok`, `:empty` or `:pending`; everything else is thrown.
`:pending` without a timeout: the losses need a [`flush!`](@ref) or the next [`reduce!`](@ref).
"""
function Base.wait(ticket::Ticket; until::Symbol=:count, timeout_ms::Union{Nothing,Integer}=nothing)
    what = named(:until, WAITS, until)
    timeout_ms === nothing || timeout_ms >= 0 || refuse("timeout_ms is ", timeout_ms, "; it must be >= 0, or nothing")
    ctx = ticket.context
    out = LibTokavg.tokavg_result_t()
    status = GC.@preserve out poll(ctx, ticket.id, what, timeout_ms, address(out))
    result = Result(status, out, ctx.terms)
    status < 0 && failed("tokavg_wait", status, ctx.handle; ticket=ticket, result=result)
    status == LibTokavg.TOKAVG_PENDING || (ctx.complete = max(ctx.complete, ticket.id))
    return result
end
