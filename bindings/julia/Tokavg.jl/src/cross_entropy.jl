# SPDX-License-Identifier: Apache-2.0

const NO_CROSS_ENTROPY = Ptr{LibTokavg.tokavg_cross_entropy_t}(C_NULL)

"""
    cross_entropy!(ticket or ctx, logits, labels; gradient, losses, lse, argmax, ...) -> (backward, sum)

Cross entropy and its gradient in one call, normalised and recorded. `logits` are (class, position, sequence), or
(class, position) for one sequence, of `Float32`, `Float16` or `BFloat16`, with the classes next to each other in memory;
`labels` are an array or [`Labels`](@ref), whose classes index the logits' first dimension.

`gradient` (of the logits' type and size, or the logits themselves), `losses` and `lse` (`Float32`, the labels' size), `argmax`
(`Int32`, the labels' size) are written where they are given. Further options: `label_smoothing`, `z_loss`, `logit_softcap`,
`loss_scale`, `loss_scale_device`. `backward` and `sum` are as with [`loss!`](@ref).
"""
function cross_entropy!(to::Union{Context,Ticket}, logits, labels; gradient=nothing, losses=nothing, lse=nothing,
                        argmax=nothing, label_smoothing=0, z_loss=0, logit_softcap=0, loss_scale=0, loss_scale_device=nothing,
                        backward=true, sum=true, stream=nothing)
    ctx, id = target(to)
    given = as_labels(labels)
    outputs = (gradient=gradient, losses=losses, lse=lse, argmax=argmax)
    c, c_labels, backward_out, sum_out = try
        as_cross_entropy_t(logits, given, outputs, backward, sum)
    catch
        LibTokavg.tokavg_cross_entropy(ctx.handle, id, NO_CROSS_ENTROPY, C_NULL)
        rethrow()
    end
    c.label_smoothing = label_smoothing
    c.z_loss = z_loss
    c.logit_softcap = logit_softcap
    c.loss_scale = loss_scale
    c.loss_scale_device = device_float("loss_scale_device", loss_scale_device)
    id == LibTokavg.TOKAVG_OPEN || gradient === nothing && backward_out === nothing || settle(ctx, id)
    status = GC.@preserve logits given outputs loss_scale_device c c_labels backward_out sum_out begin
        c.labels = address(c_labels)
        LibTokavg.tokavg_cross_entropy(ctx.handle, id, address(c), stream_of(stream))
    end
    check("tokavg_cross_entropy", status, ctx)
    return (backward=value(backward_out), sum=value(sum_out))
end

function as_logits_t(what, a, vocab, size_of_labels)
    a === nothing && return LibTokavg.tokavg_array_t()
    same_size(what, a, "labels", (vocab, size_of_labels...))
    step_along(what, a, 1) in (0, 1) || refuse(what, " has classes ", stride(a, 1), " elements apart; they must be neighbours: copy it")
    return as_array_t(what, a, 2)
end

function as_cross_entropy_t(logits, labels, outputs, backward, sum)
    c = LibTokavg.tokavg_cross_entropy_t()
    c_labels = as_labels_t(labels)
    logits isa AbstractArray && ndims(logits) > 0 || refuse("logits is a ", typeof(logits), "; it must be an array")
    c.vocab = size(logits, 1)
    size_of_labels = size(labels.labels)
    c.logits = as_logits_t("logits", logits, c.vocab, size_of_labels)
    c.gradient_out = as_logits_t("gradient", outputs.gradient, c.vocab, size_of_labels)
    for (what, a) in pairs((losses=outputs.losses, lse=outputs.lse, argmax=outputs.argmax))
        same_size(String(what), a, "labels", size_of_labels)
    end
    c.losses_out = as_array_t("losses", outputs.losses)
    c.lse_out = as_array_t("lse", outputs.lse)
    c.argmax_out = as_array_t("argmax", outputs.argmax)
    device = c.logits.memory == LibTokavg.TOKAVG_MEMORY_CUDA
    backward_out = output("backward", backward, Float32, device)
    sum_out = output("sum", sum, Float64, device)
    c.backward_out = place("backward", backward_out)
    c.sum_out = place("sum", sum_out)
    return c, c_labels, backward_out, sum_out
end
