# SPDX-License-Identifier: Apache-2.0
# What reaches the configuration; real communicators are in tests/lang/julia.
module FakeMPI
mutable struct Comm
    val::Ptr{Cvoid} # as with Open MPI
end
struct CommOfInts
    val::Cint # as with MPICH
end
end

function config_of(comm, fortran=nothing, nccl=nothing)
    config = C.tokavg_config_t()
    lent = Tokavg.set_comm!(config, comm, fortran, nccl)
    return config, lent
end

@testset "communicators" begin
    config, lent = g(config_of(FakeMPI.Comm(Ptr{Cvoid}(UInt(0x1234)))))
    @test config.comm_kind == C.TOKAVG_COMM_MPI
    GC.@preserve lent @test unsafe_load(Ptr{Ptr{Cvoid}}(config.comm)) == Ptr{Cvoid}(UInt(0x1234))
    config, lent = g(config_of(FakeMPI.CommOfInts(77)))
    GC.@preserve lent @test unsafe_load(Ptr{Cint}(config.comm)) == 77
    config, lent = config_of(Ref{Cint}(78))
    GC.@preserve lent @test unsafe_load(Ptr{Cint}(config.comm)) == 78
    @test config_of(Ptr{Cvoid}(UInt(0x5678)))[1].comm == Ptr{Cvoid}(UInt(0x5678))
    config, = config_of(nothing, 42)
    @test (config.comm_kind, config.comm_fortran) == (C.TOKAVG_COMM_MPI_FORTRAN, 42)
    @test refused(() -> config_of("world"), "String")
    @test refused(() -> config_of(Ref("world")), "MPI_Comm")
    @test refused(() -> config_of(nothing), "one of")
    @test refused(() -> config_of(:self, 42), "one of")
    # With NCCL in the build, no NCCL in the process.
    built = occursin("\"nccl\": true", Tokavg.describe())
    @test fails(() -> Context(; gradient=:mean, nccl=Ptr{Cvoid}(UInt(0x10))),
                built ? "TOKAVG_ERR_CONFIG" : "TOKAVG_ERR_NOT_BUILT", "NCCL")
end

# A transport of the caller's with one rank: the sum is the words themselves.
start(user::Ptr{Cvoid}, words::Ptr{UInt64}, n::Int64, request::Ptr{Ptr{Cvoid}}) = (unsafe_store!(request, C_NULL); Int32(0))
test(user::Ptr{Cvoid}, request::Ptr{Cvoid}, done::Ptr{Int32}) = (unsafe_store!(done, Int32(1)); Int32(0))

@testset "a caller's transport" begin
    table = C.tokavg_transport_t()
    table.version = C.TOKAVG_TRANSPORT_VERSION
    table.ranks = 1
    table.start = @cfunction(start, Int32, (Ptr{Cvoid}, Ptr{UInt64}, Int64, Ptr{Ptr{Cvoid}}))
    table.test = @cfunction(test, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Int32}))
    ctx = g(Context(table; gradient=:sum))
    @test g(wait(counted(ctx, Int32[1, 2]))).tokens == [2]
    @test occursin("caller", Tokavg.describe(ctx))
    finalize!(ctx)
    close(ctx)
end
