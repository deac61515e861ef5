# SPDX-License-Identifier: Apache-2.0
# What the library says about itself and about a context.

# Texts are copied out by a call that says how much room it needs.
function copied_text(call, handle::Ptr{Cvoid})
    needed = Ref{Int64}(0)
    text = Vector{UInt8}(undef, 1024)
    while true
        status = GC.@preserve needed text call(handle, pointer(text), Int64(length(text)), Base.unsafe_convert(Ptr{Int64}, needed))
        # A handle that is gone has no text of its own.
        status == LibTokavg.TOKAVG_OK || return ""
        needed[] <= length(text) && return GC.@preserve text unsafe_string(pointer(text))
        resize!(text, needed[])
    end
end

"""
    Tokavg.version()

The version of the library that is loaded.
"""
version() = VersionNumber(unsafe_string(LibTokavg.tokavg_version()))

"""
    Tokavg.abi_version()

The version of the library's binary interface: 1.
"""
abi_version() = LibTokavg.tokavg_abi_version()

"""
    Tokavg.status_name(status)

The name of a status, for instance `"TOKAVG_ERR_TIMEOUT"`.
"""
status_name(status::Integer) = unsafe_string(LibTokavg.tokavg_status_name(Int32(status)))

"""
    Tokavg.describe([ctx])

The library, or a context, as one JSON object: version, build, transports, effective configuration, what the environment
overrides.
"""
describe() = copied_text(LibTokavg.tokavg_describe, C_NULL)

"""
    Tokavg.last_error([ctx])

The text of the last error or remark of a context; without one, of this thread's last error outside any context.
"""
last_error() = copied_text(LibTokavg.tokavg_last_error, C_NULL)
