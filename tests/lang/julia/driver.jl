# SPDX-License-Identifier: Apache-2.0
# driver self|mpi CASES OUT: the contract cases through the Julia package; ../README.md says what is done and written.
# TOKAVG_LANG_MPI names the helper library, with `mpi`.
using Tokavg

include("cases.jl")
include("lang_mpi.jl")

bits(x) = string(reinterpret(UInt64, Float64(x)), base=16, pad=16)

# What should not have happened is written down, and the case goes on, as with the C driver.
function attempt(body, out)
    try
        return body()
    catch error
        error isa TokavgError || rethrow()
        println(out, "fault ", sprint(showerror, error))
        return nothing
    end
end

struct Totals
    backward::Vector{Float64}
    sum::Vector{Float64}
end
Totals() = Totals(zeros(8), zeros(8))

function record(out, to, call, totals)
    got = attempt(() -> loss!(to, call.losses; labels=call.labels), out)
    got === nothing || call.discard && return
    totals.backward[call.labels.term] += got.backward
    totals.sum[call.labels.term] += got.sum
end

function count_calls(out, ctx, calls, after, totals)
    for (i, call) in enumerate(calls)
        attempt(() -> count!(ctx, call.labels), out)
        after && call.losses !== nothing && record(out, ctx, call, totals)
        last = i == length(calls) || !calls[i+1].labels.same_microbatch
        call.discard && last && attempt(() -> discard!(ctx), out)
    end
end

function put_result(out, ctx, ticket, after, totals, result)
    for t in eachindex(result.tokens)
        scale, report = factor(ticket; term=t), factor(ticket; term=t, kind=:report)
        numbers = (result.weight_sum[t], result.factor[t], scale, report, result.mean_loss[t], totals.backward[t], totals.sum[t])
        print(out, join(("term", t - 1, result.tokens[t], result.nonfinite[t], result.loss_tokens[t], bits.(numbers)...), ' '))
        if after
            start = scale == 0 ? NaN : 3.0
            wide, narrow = [start], [Float32(start)]
            scale!(ticket, wide, narrow; term=t)
            println(out, " ", bits(wide[1]), " ", bits(narrow[1]))
        else
            println(out, " - -")
        end
    end
    println(out, join(("end", result.microbatches, bits(factor(ticket; kind=:microbatch)), result.empty_ranks, result.done_ranks,
                       result.failed_ranks, result.ranks, result.flags), ' '))
end

const STATUS = Dict(:ok => 0, :pending => 1, :empty => 2)

function run_step(out, ctx, step, index, rank, after)
    input = step.ranks[rank+1]
    totals = Totals()
    count_calls(out, ctx, input.calls, after, totals)
    ticket = attempt(() -> reduce!(ctx; done=input.done), out)
    ticket === nothing && return
    if !after && !step.error
        for call in input.calls
            call.discard || call.losses === nothing || record(out, ticket, call, totals)
        end
    end
    after || attempt(() -> flush!(ctx), out)
    result = try
        wait(ticket; until=step.losses ? :loss : :count)
    catch error
        error isa TokavgError || rethrow()
        println(out, "step ", index, " status ", error.status)
        return
    end
    println(out, "step ", index, " status ", STATUS[result.status])
    attempt(() -> put_result(out, ctx, ticket, after, totals, result), out)
end

# comm is the address of an MPI communicator; nothing: this rank alone.
function run_case(out, case, rank, comm, after)
    println(out, "case ", case.id, after ? " after" : " before", " rank ", rank)
    copies = get(case.options, :label_copies, 0)
    ctx = attempt(out) do
        Context(comm === nothing || case.self ? :self : comm; case.options..., timeout_ms=60000,
                label_copy_index=copies > 1 ? rank % copies : 0, asks_only=case.steps[1].ranks[rank+1].asks_only)
    end
    ctx === nothing && return
    foreach(i -> run_step(out, ctx, case.steps[i], i - 1, rank, after), eachindex(case.steps))
    attempt(() -> finalize!(ctx), out)
    close(ctx)
end

function run_alone(out, case, after)
    case.ranks == 1 || case.self || return
    foreach(rank -> run_case(out, case, rank, nothing, after), 0:case.ranks-1)
end

function run_on_mpi(out, case, after)
    case.ranks <= LangMPI.size() || return
    comm = LangMPI.split(case.ranks)
    comm == C_NULL || run_case(out, case, LangMPI.rank(), comm, after)
    LangMPI.free_split()
end

function main(mode, cases, out_prefix)
    mpi = mode == "mpi"
    mpi && LangMPI.start()
    open("$out_prefix.$(mpi ? LangMPI.rank() : 0)", "w") do out
        for case in read_cases(cases), after in (false, true)
            mpi ? run_on_mpi(out, case, after) : run_alone(out, case, after)
        end
    end
    mpi && LangMPI.stop()
end

main(ARGS...)
