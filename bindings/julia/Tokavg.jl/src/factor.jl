# SPDX-License-Identifier: Apache-2.0

"""
    factor(ticket; term=1, kind=:scale) -> Float64

The factor of a step, the same bits on every rank: `:scale` for losses or gradients, `:report` (1 / Z) for mean losses,
`:microbatch` for losses per microbatch. Waits for the counts.
"""
function factor(ticket::Ticket; term=1, kind::Symbol=:scale)
    ctx = ticket.context
    which = named(:kind, FACTORS, kind)
    settle(ctx, ticket.id)
    out = Ref{Float64}(0)
    status = GC.@preserve out begin
        LibTokavg.tokavg_factor(ctx.handle, ticket.id, term_index(term), which, Base.unsafe_convert(Ptr{Float64}, out))
    end
    check("tokavg_factor", status, ctx)
    return out[]
end

"""
    Tokavg.factor_device(ticket; term=1, kind=:scale, stream=nothing) -> Ptr{Float32}

The address of the factor in device memory; ready in the order of `stream`.
"""
function factor_device(ticket::Ticket; term=1, kind::Symbol=:scale, stream=nothing)
    ctx = ticket.context
    which = named(:kind, FACTORS, kind)
    out = Ref{Ptr{Float32}}(C_NULL)
    status = GC.@preserve out begin
        LibTokavg.tokavg_factor_device(ctx.handle, ticket.id, term_index(term), which, stream_of(stream),
                                       Base.unsafe_convert(Ptr{Ptr{Float32}}, out))
    end
    check("tokavg_factor_device", status, ctx)
    return out[]
end
