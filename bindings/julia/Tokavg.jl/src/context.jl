# SPDX-License-Identifier: Apache-2.0

"""
    Context(comm; gradient, options...)
    Context(body, comm; gradient, options...)

One data group: its ranks, its open step and the steps in flight. Collective: all ranks make it together; the call returns when
all have come, and keeps its Julia thread (not the garbage collector) until then.

`comm` is `:self`, `(ThreadsGroup, rank)`, a communicator of MPI.jl, or a `Ref` or `Ptr` to an `MPI_Comm`; instead of it
`fortran=integer` names one as Fortran does, and `nccl` is an `ncclComm_t`. `gradient` says what the trainer's own reduction does
with gradients, `:mean` or `:sum`.

The other options are those of `tokavg_config_t`, with the same defaults: `gradient_ranks`, `label_copies`, `label_copy_index`,
`asks_only`, `microbatch_shards`, `accumulation_divisor`, `ignore_index`, `divisor` (`:tokens`, `:weights`), `terms`, `in_flight`,
`timeout_ms`, `warn_ms`, `host_threads`, `transport`, `device`, `device_index`, `progress` (`:auto`, `:thread`, `:caller`),
`nccl_own`; `environment=false` ignores the `TOKAVG_` variables, and `log` is called with `(level::Symbol, text)`.

The form with `body` calls `body(ctx)`, then [`finalize!`](@ref) and `close`; if `body` throws, the context is aborted, so that
no other rank waits for this one.
"""
mutable struct Context
    handle::Ptr{Cvoid}
    terms::Int
    in_flight::Int
    newest::Int64   # the last ticket that was given
    complete::Int64 # tickets up to this one need no waiting
    log::Union{Nothing,LogSink}
    table::Any      # a caller's transport, which the library goes on using
end

function new_config()
    config = LibTokavg.tokavg_config_t()
    GC.@preserve config begin
        check("tokavg_config_init", LibTokavg.tokavg_config_init(address(config), UInt32(sizeof(config))))
    end
    return config
end

function Context(comm=nothing; gradient::Symbol, fortran=nothing, nccl=nothing, gradient_ranks=0, label_copies=0,
                 label_copy_index=0, asks_only=false, microbatch_shards=0, accumulation_divisor=0, ignore_index=-100,
                 divisor::Symbol=:tokens, terms=1, in_flight=0, timeout_ms=0, warn_ms=0, host_threads=0,
                 transport::Symbol=:auto, device::Symbol=:auto, device_index=-1, progress::Symbol=:auto, nccl_own=false,
                 environment=true, log=nothing)
    config = new_config()
    lent = set_comm!(config, comm, fortran, nccl)
    config.gradient_reduction = named(:gradient, GRADIENTS, gradient)
    config.gradient_ranks = gradient_ranks
    config.label_copies = label_copies
    config.label_copy_index = label_copy_index
    config.asks_only = asks_only
    config.microbatch_shards = microbatch_shards
    config.accumulation_divisor = accumulation_divisor
    config.ignore_index = ignore_index
    config.divisor = named(:divisor, DIVISORS, divisor)
    config.terms = terms
    config.in_flight = in_flight
    config.timeout_ms = timeout_ms
    config.warn_ms = warn_ms
    config.host_threads = host_threads
    config.transport = named(:transport, TRANSPORTS, transport)
    config.device = named(:device, DEVICES, device)
    config.device_index = device_index
    config.progress = named(:progress, PROGRESS, progress)
    config.flags = (environment ? 0 : LibTokavg.TOKAVG_CONFIG_NO_ENV) | (nccl_own ? LibTokavg.TOKAVG_CONFIG_NCCL_OWN : 0)
    return make(config, lent, set_log!(config, log))
end

function make(config, lent, sink)
    out = Ref{Ptr{Cvoid}}(C_NULL)
    status = GC.@preserve config lent sink out begin
        LibTokavg.tokavg_init(address(config), Base.unsafe_convert(Ptr{Ptr{Cvoid}}, out))
    end
    hand_over(sink)
    check("tokavg_init", status)
    table = config.comm_kind == LibTokavg.TOKAVG_COMM_CALLER ? lent : nothing
    ctx = Context(out[], max(1, config.terms), steps_kept(out[]), 0, 0, sink, table)
    # tokavg_free is local, takes any thread, never waits for a rank and never calls MPI: a garbage collector may call it.
    return finalizer(close, ctx)
end

# The environment may have changed it.
function steps_kept(handle::Ptr{Cvoid})
    found = match(r"\"in_flight\":\s*(\d+)", copied_text(LibTokavg.tokavg_describe, handle))
    return found === nothing ? typemax(Int) : parse(Int, found[1])
end

function Context(body::Function, comm=nothing; options...)
    ctx = Context(comm; options...)
    try
        value = body(ctx)
        finalize!(ctx)
        return value
    catch
        isopen(ctx) && abort(ctx)
        rethrow()
    finally
        close(ctx)
    end
end

# What every call on a context ends with.
@inline function check(call::String, status::Int32, ctx::Context)
    ctx.log === nothing || hand_over(ctx.log)
    status < 0 && failed(call, status, ctx.handle)
    return status
end

"""
    finalize!(ctx)

Ends a context together with all ranks: waits for the steps in flight and sends what is left. Kept tickets can still be read
until `close`.
"""
finalize!(ctx::Context) = (check("tokavg_finalize", LibTokavg.tokavg_finalize(ctx.handle), ctx); nothing)

"""
    close(ctx)

Frees a context on this rank alone: at any time, also after `MPI.Finalize()`; twice is once.
"""
function Base.close(ctx::Context)
    handle, ctx.handle = ctx.handle, C_NULL
    handle == C_NULL || LibTokavg.tokavg_free(handle)
    return
end
Base.isopen(ctx::Context) = ctx.handle != C_NULL

"""
    Tokavg.abort(ctx)

Fails the context, here and on the other ranks: whoever waits gets TOKAVG_ERR_ABORTED. The one call that another thread may make.
"""
abort(ctx::Context) = (check("tokavg_abort", LibTokavg.tokavg_abort(ctx.handle)); nothing)

describe(ctx::Context) = copied_text(LibTokavg.tokavg_describe, ctx.handle)
last_error(ctx::Context) = copied_text(LibTokavg.tokavg_last_error, ctx.handle)

function Base.show(io::IO, ctx::Context)
    print(io, "Tokavg.Context(", isopen(ctx) ? "$(ctx.newest) steps reduced" : "closed", ")")
end
