# SPDX-License-Identifier: Apache-2.0

const NO_SCALE = Ptr{LibTokavg.tokavg_scale_t}(C_NULL)

"""
    scale!(ticket, arrays...; term=1, kind=:scale, factor=1, factor_device=nothing, stream=nothing)
    scale!(ticket, vector of arrays; ...)

Multiplies arrays, for instance all gradients after their reduction, by the step's factor and by `factor`, in place. Where the
step's factor is 0, zeros are written, also over NaN. Waits for the counts.
"""
scale!(ticket::Ticket, arrays::AbstractArray...; options...) = scale_all!(ticket, arrays; options...)
scale!(ticket::Ticket, arrays::AbstractVector{<:AbstractArray}; options...) = scale_all!(ticket, arrays; options...)

function scale_all!(ticket::Ticket, arrays; term=1, kind::Symbol=:scale, factor=1, factor_device=nothing, stream=nothing)
    ctx = ticket.context
    items = LibTokavg.tokavg_scale_item_t[]
    c = LibTokavg.tokavg_scale_t()
    try
        foreach(a -> add_items!(items, a), arrays)
        c.term = term_index(term)
        c.kind = named(:kind, FACTORS, kind)
        # To the library 0 means 1.
        factor == 0 && refuse("factor is 0; fill!(array, 0) is what you want")
        c.factor = factor
        c.factor_device = device_float("factor_device", factor_device)
    catch
        LibTokavg.tokavg_scale(ctx.handle, ticket.id, NO_SCALE, C_NULL)
        rethrow()
    end
    c.item_size = sizeof(LibTokavg.tokavg_scale_item_t)
    c.n_items = length(items)
    settle(ctx, ticket.id)
    status = GC.@preserve arrays items factor_device c begin
        c.items = pointer(items)
        LibTokavg.tokavg_scale(ctx.handle, ticket.id, address(c), stream_of(stream))
    end
    check("tokavg_scale", status, ctx)
    return
end

# The library scales contiguous runs; a view is one run for each of its columns, or fewer.
function add_items!(items, a::AbstractArray)
    isempty(a) && return
    data, memory = locate("the array", a)
    type = dtype("the array", eltype(a))
    whole = contiguous_dims(a)
    whole == 0 && ndims(a) > 0 && refuse("the array is a ", summary(a), " whose elements are ", stride(a, 1),
                                         " apart; scale its parent, or copy it")
    run = prod(size(a)[1:whole])
    for index in CartesianIndices(size(a)[whole+1:end])
        offset = mapfoldl(((k, i),) -> (i - 1) * stride(a, whole + k), +, enumerate(Tuple(index)); init=0)
        push!(items, LibTokavg.tokavg_scale_item_t(data + offset * sizeof(eltype(a)), run, type, memory))
    end
end
add_items!(items, a) = refuse("a ", typeof(a), " cannot be scaled; it must be an array")

# How many leading dimensions follow each other without a gap.
function contiguous_dims(a::AbstractArray)
    expected = 1
    for dim in 1:ndims(a)
        size(a, dim) == 1 || stride(a, dim) == expected || return dim - 1
        expected *= size(a, dim)
    end
    return ndims(a)
end
