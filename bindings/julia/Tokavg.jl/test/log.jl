# SPDX-License-Identifier: Apache-2.0
@testset "lines come when a call is back" begin
    lines = []
    withenv("TOKAVG_LOG" => "debug") do
        ctx = g(self(log=(level, text) -> (GC.gc(); yield(); push!(lines, (level, text)))))
        @test any(line -> line[1] === :info && occursin("rank 0 of 1", line[2]), lines)
        n = length(lines)
        wait(counted(ctx, Int32[1]))
        @test length(lines) > n && last(lines)[1] === :debug
        Tokavg.abort(ctx)
        close(ctx)
    end
end

@testset "a log function that throws" begin
    withenv("TOKAVG_LOG" => "info") do
        ctx = @test_logs (:error, r"log function") self(log=(level, text) -> error("mine"))
        @test wait(counted(ctx, Int32[1])).tokens == [1]
        close(ctx)
    end
end
