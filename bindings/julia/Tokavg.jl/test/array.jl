# SPDX-License-Identifier: Apache-2.0
# Which element is which: (position, sequence), read where it lies.
struct NoPointer <: AbstractVector{Int32} end
Base.size(::NoPointer) = (2,)
Base.getindex(::NoPointer, i::Int) = Int32(i)

# A bfloat16 of another package is known by its name.
module Elsewhere
primitive type BFloat16 16 end
end

const parent_labels = Int32[i + 10j for i in 1:8, j in 1:6]
const masked = copy(parent_labels)
masked[2:2:end, :] .= -100

@testset "views and strides" begin
    @test g(tokens(masked)) == 24
    @test g(tokens(view(masked, 1:2:8, :))) == 24
    @test g(tokens(view(masked, 2:2:8, :))) == 0
    @test g(tokens(view(masked, 8:-2:1, 6:-1:1))) == 0
    @test g(tokens(view(masked, 7:-2:1, 6:-2:1))) == 12
    @test g(tokens(view(masked, :, 3))) == 4
    @test g(tokens(view(masked, 2, :))) == 0
    @test g(tokens(view(masked, 3, :))) == 6
    @test g(tokens(PermutedDimsArray(masked, (2, 1)))) == 24
    @test g(tokens(reshape(masked, 4, 12))) == 24
    @test g(tokens(reinterpret(Int32, reinterpret(Float32, masked)))) == 24
    @test g(tokens(Int32[])) == 0 == g(tokens(zeros(Int64, 0, 3)))
    # The shift drops positions, not sequences.
    @test tokens(parent_labels; shift=1) == 7 * 6
    @test tokens(PermutedDimsArray(parent_labels, (2, 1)); shift=1) == 5 * 8
    @test tokens(parent_labels[:, 1]; shift=3) == 5
    @test tokens(parent_labels; mask=Array{Bool}(masked .> 0)) == 24
    @test tokens(parent_labels; mask=view(repeat(UInt8[1, 0], 8, 6), 1:2:16, :)) == 48
end

@testset "losses at other strides than labels" begin
    ctx = self()
    labels = view(masked, 1:4, 1:2)
    losses = view(Float64[100i + j for i in 1:9, j in 1:4], 8:-2:2, 4:-2:2)
    by_hand = sum(losses[i, j] for i in 1:4, j in 1:2 if labels[i, j] != -100)
    ticket = counted(ctx, labels)
    @test g(loss!(ticket, losses; labels=labels)).sum == by_hand
    @test loss!(ctx, PermutedDimsArray(losses, (2, 1))).sum == sum(losses)
    close(ctx)
end

@testset "refused, and the others hear of it" begin
    for (labels, words) in ((NoPointer(), "no pointer"), (1:3, "no pointer"), (BitArray([1, 0]), "BitArray"),
                            (Int16[1], "Int16"), (zeros(Int32, 2, 2, 2), "position, sequence"), ("text", "text" => 0),
                            (view(masked, [1, 3], :), "no pointer"))
        ctx = self()
        @test g(refused(() -> count!(ctx, labels), (words isa Pair ? "String" : words)))
        ticket = reduce!(ctx)
        # A caller that swallows the exception cannot train on half a step.
        @test fails(() -> wait(ticket), "TOKAVG_ERR_ARGUMENT")
        close(ctx)
    end
    ctx = self()
    @test refused(() -> count!(ctx, Int32[1, 2]; mask=Bool[1]), "mask", "(2,)")
    @test refused(() -> count!(ctx, Int32[1, 2]; mask=BitArray([1, 1])), "mask", "Array{Bool}")
    @test refused(() -> count!(ctx, Int32[1, 2]; weights=[1.0 2.0]), "weights")
    ticket = reduce!(ctx)
    @test refused(() -> loss!(ticket, [1.0]; labels=Int32[1, 2]), "losses", "(2,)")
    @test refused(() -> loss!(ticket, [1.0, 2.0]; kind=:sum), "one value")
    @test refused(() -> loss!(ticket, [1.0]; kind=:average), ":average", ":mean")
    close(ctx)
end

@testset "element types" begin
    @test Tokavg.dtype("x", Float16) == C.TOKAVG_DTYPE_F16
    @test Tokavg.dtype("x", Tokavg.BFloat16) == C.TOKAVG_DTYPE_BF16
    @test Tokavg.dtype("x", Elsewhere.BFloat16) == C.TOKAVG_DTYPE_BF16
    @test refused(() -> Tokavg.dtype("x", UInt16), "UInt16")
    @test refused(() -> Tokavg.dtype("x", Any), "Any")
end
