# SPDX-License-Identifier: Apache-2.0
# What count! and reduce! take beyond the C calls that they make: in turns, in one run, medians. Exit code 1 where it is LIMIT_US or
# more; usage: julia --project=Tokavg.jl overhead.jl
using Tokavg
const C = Tokavg.LibTokavg

median(x) = sort(x)[cld(length(x), 2)]
address(x) = Ptr{typeof(x)}(pointer_from_objref(x))

function step_in_c(handle, labels, ticket, result)
    c_labels = C.tokavg_labels_t()
    c_labels.rows, c_labels.cols = 1, length(labels)
    GC.@preserve labels c_labels ticket result begin
        c_labels.labels = C.tokavg_array_t(pointer(labels), C.TOKAVG_DTYPE_I32, C.TOKAVG_MEMORY_HOST, 0, 0)
        start = time_ns()
        C.tokavg_count(handle, address(c_labels), C_NULL)
        C.tokavg_reduce(handle, Ptr{C.tokavg_reduce_t}(C_NULL), C_NULL, Base.unsafe_convert(Ptr{Int64}, ticket))
        stop = time_ns()
        # Both sides begin each step with nothing in flight.
        C.tokavg_wait(handle, ticket[], C.TOKAVG_WAIT_COUNT, -1, Ptr{C.tokavg_result_t}(C_NULL))
    end
    return (stop - start) / 1e3
end

function step_in_julia(ctx, labels)
    start = time_ns()
    count!(ctx, labels)
    ticket = reduce!(ctx)
    stop = time_ns()
    wait(ticket)
    return (stop - start) / 1e3
end

function main(limit)
    options = (gradient=:mean,)
    plain, own = Context(:self; options...), Context(:self; options...)
    labels, ticket, result = Int32.(1:512), Ref{Int64}(0), C.tokavg_result_t()
    measure(n) = [(step_in_c(plain.handle, labels, ticket, result), step_in_julia(own, labels)) for _ in 1:n]
    measure(1000) # compiles
    rounds = [measure(2000) for _ in 1:10]
    in_c = [median(first.(r)) for r in rounds]
    in_julia = [median(last.(r)) for r in rounds]
    more = median(in_julia .- in_c)
    println("count! + reduce!: C ", round(median(in_c); digits=3), " us, Julia ", round(median(in_julia); digits=3), " us, ",
            round(more; digits=3), " us more (", round(minimum(in_julia .- in_c); digits=3), " to ",
            round(maximum(in_julia .- in_c); digits=3), ")")
    println("goal (at most ", limit, " us more) met: ", more < limit)
    foreach(close, (plain, own))
end

main(2.0)
