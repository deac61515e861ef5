# SPDX-License-Identifier: Apache-2.0
# The library logs in the middle of its calls, where Julia code may neither wait nor throw. Lines are collected there and handed
# over when the call is back.

mutable struct LogSink
    receiver::Any
    lines::Vector{Tuple{Symbol,String}}
end

function collect_line(user::Ptr{Cvoid}, level::Int32, text::Ptr{UInt8})
    state = LibTokavg.enter_julia()
    sink = unsafe_pointer_to_objref(user)::LogSink
    push!(sink.lines, (level_name(level), unsafe_string(text)))
    LibTokavg.leave_julia(state)
    return nothing
end

function level_name(level::Int32)
    for (name, value) in pairs(LEVELS)
        value == level && return name
    end
    return :debug
end

hand_over(::Nothing) = nothing
function hand_over(sink::LogSink)
    while !isempty(sink.lines)
        level, text = popfirst!(sink.lines)
        try
            sink.receiver(level, text)
        catch error
            @error "the log function of a tokavg context failed" exception = (error, catch_backtrace())
        end
    end
end

set_log!(config, ::Nothing) = nothing
function set_log!(config, receiver)
    sink = LogSink(receiver, Tuple{Symbol,String}[])
    config.log = @cfunction(collect_line, Cvoid, (Ptr{Cvoid}, Int32, Ptr{UInt8}))
    config.log_user = pointer_from_objref(sink)
    return sink
end
