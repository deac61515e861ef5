# SPDX-License-Identifier: Apache-2.0

const NO_LABELS = Ptr{LibTokavg.tokavg_labels_t}(C_NULL)

"""
    count!(ctx, labels; mask, weights, term, shift, same_microbatch, stream)
    count!(ctx, labels::Labels; stream)

Counts the scored tokens of labels into the open step, as the next microbatch.
"""
function count!(ctx::Context, labels::Labels; stream=nothing)
    c = try
        as_labels_t(labels)
    catch
        # What this rank cannot count the others must hear of: the library marks the open step.
        LibTokavg.tokavg_count(ctx.handle, NO_LABELS, C_NULL)
        rethrow()
    end
    status = GC.@preserve labels c LibTokavg.tokavg_count(ctx.handle, address(c), stream_of(stream))
    check("tokavg_count", status, ctx)
    return ctx
end
count!(ctx::Context, labels; stream=nothing, options...) = count!(ctx, Labels(labels; options...); stream=stream)

"""
    count_add!(ctx, tokens; term=1, weight_sum=0, microbatches=1)

Adds counts that are known already, for instance from a data loader. `weight_sum=0` means "as many as tokens", `microbatches=0`
that they belong to the microbatch already begun.
"""
function count_add!(ctx::Context, tokens::Integer; term=1, weight_sum=0.0, microbatches=1)
    status = LibTokavg.tokavg_count_add(ctx.handle, term_index(term), Int64(tokens), Float64(weight_sum), Int64(microbatches))
    check("tokavg_count_add", status, ctx)
    return ctx
end

"""
    discard!(ctx)

Takes the latest microbatch back: its counts, and the losses recorded on the open step since it began.
"""
discard!(ctx::Context) = (check("tokavg_discard", LibTokavg.tokavg_discard(ctx.handle), ctx); ctx)
