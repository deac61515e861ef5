# SPDX-License-Identifier: Apache-2.0

"""
    Labels(labels; mask, weights, term=1, shift=0, label_base=1, same_microbatch=false)

The labels of one term of one microbatch: a vector (one sequence) or a matrix (position, sequence) of `Int32` or `Int64`; `mask`
(`Bool` or `UInt8`) and `weights` (`Float32` or `Float64`) have the same size. A token is scored if its label is not the context's
`ignore_index`, its position is beyond the first `shift` ones (1 for causal models), and its mask is not 0.

Classes count from 1, as indices into the logits do; `label_base=0` for classes that count from 0. Terms count from 1, as
they index the vectors of a [`Result`](@ref).
"""
struct Labels{L,M,W}
    labels::L
    mask::M
    weights::W
    term::Int
    shift::Int
    label_base::Int
    same_microbatch::Bool
end

function Labels(labels; mask=nothing, weights=nothing, term=1, shift=0, label_base=1, same_microbatch=false)
    return Labels(labels, mask, weights, Int(term), Int(shift), Int(label_base), Bool(same_microbatch))
end

as_labels(labels::Labels) = labels
as_labels(labels) = Labels(labels)

term_index(term) = Int32(term) - Int32(1)

# The library cannot know how large an array is: that its parts fit is checked here.
function as_labels_t(l::Labels)
    c = LibTokavg.tokavg_labels_t()
    c.rows, c.cols = shape("labels", l.labels)
    same_size("mask", l.mask, "labels", size(l.labels))
    same_size("weights", l.weights, "labels", size(l.labels))
    c.flags = l.same_microbatch ? LibTokavg.TOKAVG_LABELS_SAME_MICROBATCH : 0
    c.term = term_index(l.term)
    c.label_base = l.label_base
    c.shift = l.shift
    c.labels = as_array_t("labels", l.labels)
    c.mask = as_array_t("mask", l.mask)
    c.weights = as_array_t("weights", l.weights)
    return c
end
