# SPDX-License-Identifier: Apache-2.0
# The contract cases as ../README.md writes them, read word by word.

struct Call
    labels::Labels
    losses::Any # nothing: none
    discard::Bool
end

struct RankInput
    calls::Vector{Call}
    done::Bool
    asks_only::Bool
end

struct Step
    error::Bool
    losses::Bool
    ranks::Vector{RankInput}
end

struct Case
    id::String
    ranks::Int
    self::Bool
    options::Dict{Symbol,Any} # of the context
    steps::Vector{Step}
end

mutable struct Words
    words::Vector{SubString{String}}
    next::Int
end

take!(w::Words) = (w.next += 1; w.words[w.next-1])
integer(w::Words) = parse(Int, take!(w))
double(w::Words) = reinterpret(Float64, parse(UInt64, take!(w), base=16))
function named(w::Words, name)
    word = take!(w)
    word == name || error("the cases: '$word' where '$name' should be")
    return integer(w)
end

const TYPES = (Int32, Int64, UInt8, Float32, Float64)

# The file has one row after the other, which is Julia's (position, sequence).
function read_array(w::Words, dtype, rows, cols)
    dtype == 0 && return nothing
    element = TYPES[dtype]
    values = [element <: AbstractFloat ? element(double(w)) : element(integer(w)) for _ in 1:rows*cols]
    return reshape(values, cols, rows)
end

function read_call(w::Words)
    take!(w) == "call" || error("the cases: 'call' is missing")
    rows, cols, shift, term, labels, losses, weights, mask, same, discard = (named(w, name) for name in
        ("rows", "cols", "shift", "term", "labels", "losses", "weights", "mask", "same", "discard"))
    labels_array, losses_array, weights_array = (read_array(w, dtype, rows, cols) for dtype in (labels, losses, weights))
    mask_array = read_array(w, mask == 0 ? 0 : 3, rows, cols)
    return Call(Labels(labels_array; mask=mask_array, weights=weights_array, term=term + 1, shift=shift, same_microbatch=same != 0),
                losses_array, discard != 0)
end

function read_rank(w::Words, index)
    named(w, "rank") == index || error("the cases: ranks are out of order")
    calls, done, asks = (named(w, name) for name in ("calls", "done", "asks"))
    return RankInput([read_call(w) for _ in 1:calls], done != 0, asks != 0)
end

function read_step(w::Words, ranks)
    take!(w) == "step" || error("the cases: 'step' is missing")
    failed, losses = named(w, "error"), named(w, "losses")
    return Step(failed != 0, losses != 0, [read_rank(w, i) for i in 0:ranks-1])
end

function read_options(w::Words)
    take!(w) == "config" || error("the cases: 'config' is missing")
    options = Dict{Symbol,Any}(:gradient => (:mean, :sum)[integer(w)])
    for name in (:gradient_ranks, :label_copies, :microbatch_shards)
        options[name] = integer(w)
    end
    options[:divisor] = (:tokens, :weights)[integer(w)+1]
    options[:terms] = max(1, integer(w))
    options[:ignore_index] = integer(w)
    options[:accumulation_divisor] = double(w)
    return options
end

function read_case(w::Words)
    take!(w) == "case" || error("the cases: 'case' is missing")
    id = String(take!(w))
    ranks, self, steps = (named(w, name) for name in ("ranks", "self", "steps"))
    options = read_options(w)
    return Case(id, ranks, self != 0, options, [read_step(w, ranks) for _ in 1:steps])
end

function read_cases(path)
    w = Words(split(read(path, String)), 1)
    return [read_case(w) for _ in 1:named(w, "cases")]
end
