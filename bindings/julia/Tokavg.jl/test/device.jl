# SPDX-License-Identifier: Apache-2.0
# Arrays of CUDA.jl, by their shape: a dense array whose pointer is a CuPtr. A library without CUDA says so; one with it
# says it of a context on the host, and of a machine without a GPU.
primitive type CuPtr{T} 64 end
struct DeviceArray{T,N} <: DenseArray{T,N}
    dims::NTuple{N,Int}
end
Base.size(a::DeviceArray) = a.dims
Base.strides(a::DeviceArray) = Base.size_to_strides(1, a.dims...)
Base.pointer(a::DeviceArray{T}) where {T} = reinterpret(CuPtr{T}, UInt(0x7f0000001000))

@testset "device arrays" begin
    built = occursin("\"cuda\": true", Tokavg.describe())
    elsewhere = built ? "TOKAVG_ERR_UNSUPPORTED" : "TOKAVG_ERR_NOT_BUILT"
    array = Tokavg.as_array_t("labels", DeviceArray{Int32,2}((4, 3)))
    @test array.data == Ptr{Cvoid}(UInt(0x7f0000001000))
    @test array.memory == C.TOKAVG_MEMORY_CUDA
    @test (array.row_stride, array.col_stride) == (4, 1)
    ctx = self()
    @test g(fails(() -> count!(ctx, DeviceArray{Int32,1}((4,))), elsewhere, "CUDA"))
    losses = DeviceArray{Float32,1}((4,))
    @test fails(() -> loss!(ctx, losses), elsewhere)
    @test fails(() -> loss!(ctx, Float32[1]; loss_scale_device=DeviceArray{Float32,1}((1,))), elsewhere)
    @test refused(() -> loss!(ctx, losses; backward=DeviceArray{Float64,1}((1,))), "backward", "Float32")
    close(ctx)
    ctx = self()
    ticket = counted(ctx, Int32[1])
    @test fails(() -> scale!(ticket, losses), elsewhere)
    @test fails(() -> Tokavg.factor_device(ticket; stream=(handle=Ptr{Cvoid}(0),)),
                built ? "TOKAVG_ERR_STATE" : "TOKAVG_ERR_NOT_BUILT")
    close(ctx)
    built || @test fails(() -> self(device=:cuda), "TOKAVG_ERR_NOT_BUILT")
end
