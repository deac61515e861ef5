# SPDX-License-Identifier: Apache-2.0

const NO_LOSS = Ptr{LibTokavg.tokavg_loss_t}(C_NULL)

"""
    loss!(ticket or ctx, losses; labels=nothing, term=1, ...) -> (backward, sum)
    loss!(ticket or ctx, value; kind=:sum or :mean, tokens=nothing, term=1, ...) -> (backward, sum)

Records losses: one for each label (an array of the labels' size; without `labels` every element counts), or one value, the
`:sum` or `:mean` over `tokens` tokens (without it: those counted here and not yet recorded).

`sum` is the (weighted) sum S of these losses; `backward` is what to call backward on: S times the step's factor and `loss_scale`,
in the losses' type. On a ticket that waits for the counts. On a context the losses go to the open step, whose factor is 1:
scale the gradients with [`scale!`](@ref) later. `backward=false` and `sum=false` do without.
"""
function loss!(to::Union{Context,Ticket}, losses::AbstractArray; kind::Symbol=:token_losses, labels=nothing, tokens=nothing,
               term=nothing, loss_scale=0, loss_scale_device=nothing, backward=true, sum=true, stream=nothing)
    ctx, id = target(to)
    given = labels === nothing ? nothing : as_labels(labels)
    c, c_labels, backward_out, sum_out = try
        as_loss_t(losses, given, kind, tokens, term, loss_scale, loss_scale_device, backward, sum)
    catch
        LibTokavg.tokavg_loss(ctx.handle, id, NO_LOSS, C_NULL)
        rethrow()
    end
    backward_out !== nothing && id != LibTokavg.TOKAVG_OPEN && settle(ctx, id)
    status = GC.@preserve losses given loss_scale_device c c_labels backward_out sum_out begin
        c_labels === nothing || (c.labels = address(c_labels))
        LibTokavg.tokavg_loss(ctx.handle, id, address(c), stream_of(stream))
    end
    check("tokavg_loss", status, ctx)
    return (backward=value(backward_out), sum=value(sum_out))
end

loss!(to::Union{Context,Ticket}, x::Float32; kind::Symbol, options...) = loss!(to, fill(x); kind=kind, options...)
loss!(to::Union{Context,Ticket}, x::Real; kind::Symbol, options...) = loss!(to, fill(Float64(x)); kind=kind, options...)

function as_loss_t(losses, labels, kind, tokens, term, loss_scale, loss_scale_device, backward, sum)
    c = LibTokavg.tokavg_loss_t()
    c.kind = named(:kind, LOSSES, kind)
    c_labels = labels === nothing ? nothing : as_labels_t(labels)
    if kind === :token_losses
        c.rows, c.cols = shape("losses", losses)
        labels === nothing || same_size("losses", losses, "labels", size(labels.labels))
    elseif length(losses) != 1
        refuse("losses is a ", summary(losses), "; of kind :", kind, " it must hold one value")
    end
    c.term = term === nothing ? (labels === nothing ? Int32(0) : term_index(labels.term)) : term_index(term)
    c.losses = as_array_t("losses", losses)
    c.tokens = tokens === nothing ? -1 : tokens
    c.loss_scale = loss_scale
    c.loss_scale_device = device_float("loss_scale_device", loss_scale_device)
    device = c.losses.memory == LibTokavg.TOKAVG_MEMORY_CUDA
    backward_out = output("backward", backward, eltype(losses), device)
    sum_out = output("sum", sum, Float64, device)
    c.backward_out = place("backward", backward_out)
    c.sum_out = place("sum", sum_out)
    return c, c_labels, backward_out, sum_out
end
