# SPDX-License-Identifier: Apache-2.0
# Function pointers are filled in when the package is loaded, never when it is compiled: the library may lie elsewhere by then.

const ABI_VERSION = 1

mutable struct Entry
    name::String
    address::Ptr{Cvoid}
end
Entry(name) = Entry(name, C_NULL)

"libtokavg cannot be used; the text says why, and what to do."
struct LibraryError <: Exception
    text::String
end
Base.showerror(io::IO, error::LibraryError) = print(io, "tokavg: ", error.text)

"`TOKAVG_LIBRARY`, or what the loader finds by the library's name."
library_path() = get(ENV, "TOKAVG_LIBRARY", "libtokavg.so.1")

"Opens the library and fills in the pointers; `nothing`, or the reason why that did not work."
function open_library()
    path = library_path()
    handle = try
        # Not with RTLD_DEEPBIND, Julia's default: where libjulia brings an unwinder of its own, the library's C++ exceptions would
        # be thrown by one unwinder and resumed by another.
        Libdl.dlopen(path, Libdl.RTLD_NOW | Libdl.RTLD_LOCAL)
    catch error
        return "$(sprint(showerror, error)); install libtokavg, or name its file in TOKAVG_LIBRARY"
    end
    version = Libdl.dlsym(handle, :tokavg_abi_version; throw_error=false)
    version === nothing && return "$path is no libtokavg: it lacks tokavg_abi_version"
    number = ccall(version, Int32, ())
    number == ABI_VERSION || return "$path has binary interface $number; this package needs $ABI_VERSION"
    for entry in ENTRIES
        address = Libdl.dlsym(handle, entry.name; throw_error=false)
        entry.address = address === nothing ? C_NULL : address
    end
    return nothing
end

# A library that was not there when the package was loaded may be named later.
@noinline function find_late(entry::Entry)
    reason = open_library()
    reason === nothing || throw(LibraryError(reason))
    entry.address == C_NULL && throw(LibraryError("$(library_path()) lacks $(entry.name); install tokavg 1.0 or later"))
    return entry.address
end

@inline find(entry::Entry) = entry.address == C_NULL ? find_late(entry) : entry.address

# A thread inside a long call must not keep the garbage collector of the other threads waiting: they would never reach the step
# that this one waits for. Nothing of Julia's may be touched in between.
@inline let_gc_run() = ccall(:jl_gc_safe_enter, Int8, ())
@inline hold_gc(state::Int8) = ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)

# For Julia code that C calls back.
@inline enter_julia() = ccall(:jl_gc_unsafe_enter, Int8, ())
@inline leave_julia(state::Int8) = ccall(:jl_gc_unsafe_leave, Cvoid, (Int8,), state)

function __init__()
    # Without the library the package still loads; the first call says what is missing.
    open_library()
    return
end
