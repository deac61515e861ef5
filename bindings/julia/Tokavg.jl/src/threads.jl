# SPDX-License-Identifier: Apache-2.0

"""
    ThreadsGroup(ranks)

Ranks that are threads of this process: rank `r` (from 0) makes its context with `Context((group, r); ...)`, on a Julia thread of
its own. `close` it when all contexts are made.
"""
mutable struct ThreadsGroup
    handle::Ptr{Cvoid}
    function ThreadsGroup(ranks::Integer)
        out = Ref{Ptr{Cvoid}}(C_NULL)
        GC.@preserve out begin
            check("tokavg_threads_create", LibTokavg.tokavg_threads_create(Int32(ranks), Base.unsafe_convert(Ptr{Ptr{Cvoid}}, out)))
        end
        return finalizer(close, new(out[]))
    end
end

function Base.close(group::ThreadsGroup)
    handle, group.handle = group.handle, C_NULL
    handle == C_NULL || LibTokavg.tokavg_threads_free(handle)
    return
end
Base.isopen(group::ThreadsGroup) = group.handle != C_NULL
