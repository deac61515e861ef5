# SPDX-License-Identifier: Apache-2.0

"""
A call of the library that failed. `name` is the status, such as `"TOKAVG_ERR_PEER"` (`status` its number, `call` the C function);
`text` is the library's: argument, value, remedy. `ticket` is the ticket that a failed `reduce!` used up, `result` what a failed
`wait` knows of the step; else they are `nothing`.
"""
struct TokavgError <: Exception
    status::Int32
    name::String
    call::String
    text::String
    ticket::Any
    result::Any
end

function Base.showerror(io::IO, error::TokavgError)
    print(io, "TokavgError: ", error.call, ": ", error.name)
    isempty(error.text) || print(io, ": ", error.text)
end

@noinline function failed(call::String, status::Int32, handle::Ptr{Cvoid}=C_NULL; ticket=nothing, result=nothing)
    text = copied_text(LibTokavg.tokavg_last_error, handle)
    # A handle that is gone has left its text with the thread.
    isempty(text) && (text = last_error())
    throw(TokavgError(status, status_name(status), call, text, ticket, result))
end

@inline function check(call::String, status::Int32, handle::Ptr{Cvoid}=C_NULL)
    status < 0 && failed(call, status, handle)
    return status
end
