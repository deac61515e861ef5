# SPDX-License-Identifier: Apache-2.0
# Julia's arrays as the library's: an address, an element type, and the steps between rows and columns.
#
# The library's rows are sequences and its columns positions. Julia's first dimension is the fastest one, so that labels are
# (position, sequence) and logits (class, position, sequence); a vector is one sequence.

"""
For storage of bfloat16 where BFloat16s.jl is not used: `reinterpret(Tokavg.BFloat16, bits)` of a `UInt16` array.
"""
primitive type BFloat16 16 end

refuse(text...) = throw(ArgumentError(string(text...)))

dtype(::String, ::Type{Int32}) = LibTokavg.TOKAVG_DTYPE_I32
dtype(::String, ::Type{Int64}) = LibTokavg.TOKAVG_DTYPE_I64
dtype(::String, ::Type{UInt8}) = LibTokavg.TOKAVG_DTYPE_U8
dtype(::String, ::Type{Bool}) = LibTokavg.TOKAVG_DTYPE_U8
dtype(::String, ::Type{Float32}) = LibTokavg.TOKAVG_DTYPE_F32
dtype(::String, ::Type{Float64}) = LibTokavg.TOKAVG_DTYPE_F64
dtype(::String, ::Type{Float16}) = LibTokavg.TOKAVG_DTYPE_F16
function dtype(what::String, ::Type{T}) where {T}
    isbitstype(T) && sizeof(T) == 2 && nameof(T) === :BFloat16 && return LibTokavg.TOKAVG_DTYPE_BF16
    refuse(what, " has elements of type ", T, "; labels are Int32 or Int64, masks Bool or UInt8, weights and losses Float32 or ",
           "Float64, logits Float32, Float16 or BFloat16: convert it")
end

# The type of CUDA.jl's pointers, without depending on CUDA.jl.
is_device_pointer(p) = nameof(typeof(p)) === :CuPtr && sizeof(p) == 8

locate(::String, a, p::Ptr) = (Ptr{Cvoid}(p), LibTokavg.TOKAVG_MEMORY_HOST)
function locate(what::String, a, p)
    is_device_pointer(p) || refuse(what, " lies in memory that tokavg does not know (", typeof(p), ")")
    return (Ptr{Cvoid}(reinterpret(UInt, p)), LibTokavg.TOKAVG_MEMORY_CUDA)
end

locate(what::String, a::StridedArray) = locate(what, a, pointer(a))
locate(what::String, a::BitArray) = refuse(what, " is a BitArray, whose elements have no addresses; use Array{Bool}")
function locate(what::String, a::AbstractArray)
    # Other packages' arrays: what has a pointer and strides will do.
    p = try
        strides(a)
        pointer(a)
    catch
        refuse(what, " is a ", typeof(a), ", which has no pointer or no strides; copy it: collect(...)")
    end
    return locate(what, a, p)
end
locate(what::String, a) = refuse(what, " is a ", typeof(a), "; it must be an array")

# 0 means "contiguous" to the library, so it also serves where there is one element only.
@inline function step_along(what::String, a::AbstractArray, dim::Int)
    dim > ndims(a) && return 0
    (size(a, dim) <= 1 || isempty(a)) && return 0
    step = stride(a, dim)
    step == 0 && refuse(what, " repeats one element along dimension ", dim, " (stride 0); copy it")
    return step
end

# `position` is the dimension of the positions; that of the sequences follows it.
@inline function as_array_t(what::String, a, position::Int=1)
    data, memory = locate(what, a)
    column = step_along(what, a, position)
    return LibTokavg.tokavg_array_t(data, dtype(what, eltype(a)), memory, step_along(what, a, position + 1), column)
end
@inline as_array_t(::String, ::Nothing, position::Int=1) = LibTokavg.tokavg_array_t()

"(rows, cols) of labels as the library sees them."
shape(::String, a::AbstractVector) = (1, length(a))
shape(::String, a::AbstractMatrix) = (size(a, 2), size(a, 1))
shape(what::String, a) = refuse(what, " is a ", summary(a), "; it must be a vector (one sequence) or a matrix (position, sequence)")

@inline function same_size(what::String, a, other::String, size_of_other::Tuple)
    a === nothing && return
    size(a) == size_of_other || wrong_size(what, size(a), other, size_of_other)
    return
end
@noinline function wrong_size(what, size_of_it, other, size_of_other)
    throw(DimensionMismatch("$what has size $size_of_it; it must be $size_of_other, as $other says"))
end

@inline address(x) = Ptr{typeof(x)}(pointer_from_objref(x))

# The value of a CUDA stream, or an object that holds it, as CUDA.jl's CuStream does.
stream_of(::Nothing) = C_NULL
stream_of(stream::Ptr) = Ptr{Cvoid}(stream)
stream_of(stream) = Ptr{Cvoid}(UInt(getproperty(stream, :handle)))

# A float in device memory, which multiplies as well.
device_float(::String, ::Nothing) = Ptr{Float32}(C_NULL)
function device_float(what::String, a::AbstractArray{Float32})
    isempty(a) && refuse(what, " is empty; it must hold one Float32")
    return Ptr{Float32}(locate(what, a)[1])
end
device_float(what::String, a) = refuse(what, " is a ", typeof(a), "; it must be an array of Float32 in device memory")
