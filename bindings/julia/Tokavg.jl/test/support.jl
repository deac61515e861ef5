# SPDX-License-Identifier: Apache-2.0

# A context on this rank alone, and a full collection of garbage before each of its calls that a test makes through `g`.
self(; options...) = Context(:self; gradient=:mean, options...)
g(value) = (GC.gc(); value)

# The error that `body` throws.
function thrown(body)
    try
        body()
    catch error
        return error
    end
    return nothing
end

function fails(body, name, words...)
    error = thrown(body)
    error isa TokavgError && error.name == name && all(word -> occursin(word, error.text), words) && return true
    @info "not the error that was expected" error
    return false
end

refused(body, words...) = (error = thrown(body); error isa Union{ArgumentError,DimensionMismatch} && all(w -> occursin(w, error.msg), words))

# One step of one microbatch, up to its ticket.
function counted(ctx, labels; options...)
    count!(ctx, labels; options...)
    return reduce!(ctx)
end

tokens(labels; options...) = (ctx = self(); n = wait(counted(ctx, labels; options...)).tokens[1]; close(ctx); n)
