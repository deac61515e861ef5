# SPDX-License-Identifier: Apache-2.0

"""
What a step holds, over all ranks unless the name says local. `status` is `:ok`, `:empty` (complete, and nothing was scored),
`:pending` (not yet complete), or `:failed` in the `result` of a [`TokavgError`](@ref).

Vectors have one element for each term: `tokens`, `local_tokens`, `loss_tokens`, `nonfinite`, `invalid_labels`, `weight_sum`,
`loss_sum`, `factor`, `mean_loss`. `loss_ready` says that `loss_sum` and `mean_loss` are final, `audit_failed` that the losses of
step `audit_ticket` held other tokens than were counted, `unaudited` that some losses did not say how many tokens they hold.
The rest is as in `tokavg_result_t`.
"""
struct Result
    status::Symbol
    ticket::Int64
    step_id::Int64
    tokens::Vector{Int64}
    local_tokens::Vector{Int64}
    loss_tokens::Vector{Int64}
    nonfinite::Vector{Int64}
    invalid_labels::Vector{Int64}
    weight_sum::Vector{Float64}
    loss_sum::Vector{Float64}
    factor::Vector{Float64}
    mean_loss::Vector{Float64}
    microbatches::Int64
    loss_ready::Bool
    audit_failed::Bool
    unaudited::Bool
    audit_ticket::Int64
    audit_counted::Int64
    audit_recorded::Int64
    ranks::Int32
    label_ranks::Int32
    empty_ranks::Int32
    done_ranks::Int32
    failed_ranks::Int32
    first_failed_rank::Int32
    exposed_seconds::Float64
    reduce_seconds::Float64
    flags::UInt32
end

function status_symbol(status::Int32)
    status == LibTokavg.TOKAVG_OK && return :ok
    status == LibTokavg.TOKAVG_EMPTY && return :empty
    status == LibTokavg.TOKAVG_PENDING && return :pending
    return status < 0 ? :failed : :ok
end

function Result(status::Int32, c::LibTokavg.tokavg_result_t, terms::Int)
    first_terms(values) = [values[t] for t in 1:min(terms, length(values))]
    has(flag) = c.flags & UInt32(flag) != 0
    return Result(status_symbol(status), c.ticket, c.step_id, first_terms(c.tokens), first_terms(c.local_tokens),
                  first_terms(c.loss_tokens), first_terms(c.nonfinite), first_terms(c.invalid_labels),
                  first_terms(c.weight_sum), first_terms(c.loss_sum), first_terms(c.factor), first_terms(c.mean_loss),
                  c.microbatches, has(LibTokavg.TOKAVG_RESULT_LOSS_READY), has(LibTokavg.TOKAVG_RESULT_AUDIT_FAILED),
                  has(LibTokavg.TOKAVG_RESULT_UNAUDITED), c.audit_ticket, c.audit_counted, c.audit_recorded, c.ranks,
                  c.label_ranks, c.empty_ranks, c.done_ranks, c.failed_ranks, c.first_failed_rank, c.exposed_seconds,
                  c.reduce_seconds, c.flags)
end

function Base.show(io::IO, r::Result)
    print(io, "Tokavg.Result(step ", r.ticket, " ", r.status, ": ", join(r.tokens, ", "), " tokens, mean loss ",
          join(r.mean_loss, ", "), r.loss_ready ? ")" : " so far)")
end
