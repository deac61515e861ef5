# SPDX-License-Identifier: Apache-2.0
"""
Token averaging for data-parallel training: every rank divides its loss by the scored tokens of the whole optimiser step.

    ctx = Context(comm; gradient=:mean)
    count!(ctx, labels)                       # for each microbatch
    step = reduce!(ctx)                       # returns at once
    backward, = loss!(step, losses; labels)   # already divided
    result = wait(step)

`docs/languages/julia.md` is the guide; `Tokavg.LibTokavg` is the C interface as it is.
"""
module Tokavg

import Base: count!

export Context, ThreadsGroup, Labels, Ticket, Result, TokavgError
export count!, count_add!, discard!, reduce!, flush!, progress!
export factor, loss!, cross_entropy!, scale!, release!, finalize!

include("lib/LibTokavg.jl")
using .LibTokavg

include("names.jl")
include("text.jl")
include("error.jl")
include("array.jl")
include("threads.jl")
include("comm.jl")
include("log.jl")
include("context.jl")
include("labels.jl")
include("count.jl")
include("result.jl")
include("reduce.jl")
include("wait.jl")
include("factor.jl")
include("output.jl")
include("loss.jl")
include("cross_entropy.jl")
include("scale.jl")

end
