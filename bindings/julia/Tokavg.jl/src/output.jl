# SPDX-License-Identifier: Apache-2.0
# One number that a call gives back: `true` asks for it, `false` does not want it, an array (in device memory, say) receives it.
# Of arrays in device memory `true` gives nothing back, since nobody waits for the device.

output(::String, wanted::Bool, ::Type{T}, device::Bool) where {T} = wanted && !device ? Ref{T}() : nothing
function output(what::String, a::AbstractArray, ::Type{T}, ::Bool) where {T}
    eltype(a) === T && length(a) == 1 || refuse(what, " is a ", summary(a), "; it must hold one ", T)
    return a
end

place(::String, ::Nothing) = C_NULL
place(::String, r::Ref{T}) where {T} = Ptr{Cvoid}(Base.unsafe_convert(Ptr{T}, r))
place(what::String, a::AbstractArray) = locate(what, a)[1]

value(::Nothing) = nothing
value(r::Ref) = r[]
value(a::AbstractArray) = a
