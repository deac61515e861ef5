# SPDX-License-Identifier: Apache-2.0
@testset "version" begin
    @test Tokavg.version() >= v"1.0"
    @test Tokavg.abi_version() == 1
    @test Tokavg.status_name(-9) == "TOKAVG_ERR_PEER"
    @test Tokavg.status_name(12345) == "TOKAVG_UNKNOWN_STATUS"
    @test occursin("\"version\"", Tokavg.describe())
end

@testset "close twice, use after close" begin
    ctx = self()
    @test isopen(ctx)
    ticket = reduce!(ctx)
    @test g(close(ctx)) === nothing
    @test g(close(ctx)) === nothing
    @test !isopen(ctx)
    for call in (() -> count!(ctx, Int32[1]), () -> count_add!(ctx, 1), () -> discard!(ctx), () -> reduce!(ctx),
                 () -> flush!(ctx), () -> progress!(ctx), () -> wait(ticket), () -> factor(ticket), () -> release!(ticket),
                 () -> loss!(ctx, 1.0; kind=:sum), () -> cross_entropy!(ctx, Float32[1 2; 3 4], Int32[1, 2]),
                 () -> scale!(ticket, [1.0]), () -> Tokavg.factor_device(ticket), () -> finalize!(ctx), () -> Tokavg.abort(ctx))
        @test g(fails(call, "TOKAVG_ERR_HANDLE", "ctx is NULL"))
    end
    @test sprint(show, ctx) == "Tokavg.Context(closed)"
end

@testset "finalize! keeps tickets" begin
    ctx = self()
    ticket = counted(ctx, Int32[1, 2])
    finalize!(ctx)
    @test g(wait(ticket)).tokens == [2]
    @test fails(() -> count!(ctx, Int32[1]), "TOKAVG_ERR_STATE")
    close(ctx)
end

@testset "body" begin
    kept = Ref{Any}()
    @test Context(:self; gradient=:sum) do ctx
        kept[] = ctx
        wait(counted(ctx, [1, 2, 3])).tokens[1]
    end == 3
    @test !isopen(kept[])
    @test thrown(() -> Context(ctx -> error("mine"), :self; gradient=:sum)) == ErrorException("mine")
end

@testset "forgotten contexts are freed by the garbage collector" begin
    # The library has 4096 handles.
    for i in 1:6000
        reduce!(self())
        i % 1000 == 0 && GC.gc()
    end
    @test true
end
