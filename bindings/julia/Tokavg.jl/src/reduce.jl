# SPDX-License-Identifier: Apache-2.0

"""
A reduced step. `id` counts 1, 2, 3, ...; the last `in_flight` tickets of a context can be used.
"""
struct Ticket
    context::Context
    id::Int64
end
Base.show(io::IO, ticket::Ticket) = print(io, "Tokavg.Ticket(", ticket.id, ")")

# Where losses go: the open step of a context, or a reduced one.
target(ctx::Context) = (ctx, Int64(LibTokavg.TOKAVG_OPEN))
target(ticket::Ticket) = (ticket.context, ticket.id)

"""
    reduce!(ctx; done=false, step_id=nothing, accumulation_divisor=nothing, stream=nothing) -> Ticket

Closes the open step, begins to sum its counts over the ranks, and opens the next step. `done=true`: this rank has no data
after this step. `step_id` is the trainer's own number of the step, compared over the ranks. `accumulation_divisor` is that of
this step alone.
"""
function reduce!(ctx::Context; done::Bool=false, step_id::Union{Nothing,Integer}=nothing, accumulation_divisor=nothing,
                 stream=nothing)
    options = LibTokavg.tokavg_reduce_t()
    options.flags = (done ? LibTokavg.TOKAVG_REDUCE_DONE : 0) | (step_id === nothing ? 0 : LibTokavg.TOKAVG_REDUCE_STEP_ID)
    step_id === nothing || (options.step_id = step_id)
    accumulation_divisor === nothing || (options.accumulation_divisor = accumulation_divisor)
    # The library would wait for the step whose place this one takes; here other tasks run meanwhile.
    oldest = ctx.newest + 1 - ctx.in_flight
    oldest > ctx.complete && settle(ctx, oldest)
    out = Ref{Int64}(0)
    status = GC.@preserve options out begin
        LibTokavg.tokavg_reduce(ctx.handle, address(options), stream_of(stream), Base.unsafe_convert(Ptr{Int64}, out))
    end
    ticket = out[] == 0 ? nothing : Ticket(ctx, out[])
    ticket === nothing || (ctx.newest = out[])
    status < 0 && failed("tokavg_reduce", status, ctx.handle; ticket=ticket)
    check("tokavg_reduce", status, ctx)
    return ticket::Ticket
end

"""
    flush!(ctx; stream=nothing)

Sends the losses of reduced steps now, where no `reduce!` follows or a mean loss is to be read at once. Collective.
"""
function flush!(ctx::Context; stream=nothing)
    check("tokavg_flush", LibTokavg.tokavg_flush(ctx.handle, stream_of(stream)), ctx)
    return ctx
end

"""
    progress!(ctx)

Moves messages on; needed only where no thread does it (MPI below `MPI_THREAD_MULTIPLE`, `progress=:caller`).
"""
progress!(ctx::Context) = (check("tokavg_progress", LibTokavg.tokavg_progress(ctx.handle), ctx); ctx)

"""
    release!(ticket)

Says that a ticket is not needed any more on this rank.
"""
function release!(ticket::Ticket)
    ctx = ticket.context
    check("tokavg_release", LibTokavg.tokavg_release(ctx.handle, ticket.id), ctx)
    return
end
