# SPDX-License-Identifier: Apache-2.0
# Ranks that are Julia threads, under a garbage collector that is never left alone.
using Base.Threads: @threads, nthreads, threadid, @spawn

function on_ranks(body, ranks; options...)
    group = ThreadsGroup(ranks)
    results = Vector{Any}(nothing, ranks)
    @threads for r in 0:ranks-1
        results[r+1] = try
            ctx = Context((group, r); gradient=:sum, timeout_ms=20_000, options...)
            try
                body(ctx, r)
            finally
                close(ctx)
            end
        catch error
            error
        end
    end
    close(group)
    close(group)
    return results
end

# Not sleep: the first thread serves all timers, and is itself inside the library.
function work_and_collect(seconds)
    start = time()
    while time() - start < seconds
        GC.gc()
    end
end

# Julia 1.5 makes no more threads than there are cores.
const RANKS = min(3, nthreads())

if RANKS < 2
    @info "skipped: Julia has $(nthreads()) thread, these tests need 2 (JULIA_NUM_THREADS)"
else
    @testset "steps on $RANKS threads" begin
        results = on_ranks(RANKS) do ctx, r
            for step in 1:50
                garbage = [Int32[1, -100, r] for _ in 1:100] # collections at any place
                for labels in garbage[1:r+1]
                    count!(ctx, labels)
                end
                ticket = reduce!(ctx; step_id=step)
                losses = [Float64[1, NaN, step] for _ in 1:r+1]
                step % 10 == r && GC.gc()
                foreach((l, y) -> loss!(ticket, l; labels=y), losses, garbage)
                flush!(ctx)
                result = wait(ticket; until=:loss)
                result.tokens == [RANKS * (RANKS + 1)] && result.mean_loss ≈ [(1 + step) / 2] || return result
            end
            finalize!(ctx)
            "done"
        end
        @test results == fill("done", RANKS)
    end

    @testset "a blocked rank does not hold the collector" begin
        # Rank 0 is inside the library when the others collect: a thread that held the collector would wait for its deadline.
        seconds = @elapsed results = on_ranks(RANKS) do ctx, r
            r == 0 || work_and_collect(0.2)
            ticket = counted(ctx, Int32[1])
            r == 0 || work_and_collect(0.2)
            r == 0 && factor(ticket) # waits for the others
            finalize!(ctx)
        end
        @test results == fill(nothing, RANKS)
        @test seconds < 15
    end

    @testset "a waiting rank lets other tasks run" begin
        own = self()
        wait(reduce!(own); timeout_ms=20) # what follows measures no compilation
        wait(reduce!(own))
        close(own)
        ticks = Threads.Atomic{Int}(0)
        group = ThreadsGroup(2)
        late = @spawn Context((group, 1); gradient=:mean) do other
            sleep(0.5)
            wait(reduce!(other))
        end
        ctx = Context((group, 0); gradient=:mean)
        ticker = @async for _ in 1:50
            Threads.atomic_add!(ticks, 1)
            sleep(0.002)
        end
        ticket = reduce!(ctx)
        @test wait(ticket; timeout_ms=20).status === :pending
        @test wait(ticket).status === :empty
        @test ticks[] >= 10
        finalize!(ctx)
        wait(late)
        wait(ticker)
        foreach(close, (ctx, group))
    end

    @testset "the deadline names the rank that is late" begin
        results = on_ranks(2; timeout_ms=400) do ctx, r
            if r == 0
                ticket = reduce!(ctx)
                error = thrown(() -> wait(ticket))
                return (error.name, occursin("1", error.text))
            end
            sleep(1)
        end
        @test results[1] == ("TOKAVG_ERR_TIMEOUT", true)
    end

    @testset "a failed rank, and one that throws" begin
        results = on_ranks(RANKS) do ctx, r
            r == 1 && thrown(() -> count!(ctx, Int16[1]))
            error = thrown(() -> wait(reduce!(ctx)))
            (error.name, error.result.first_failed_rank)
        end
        @test results == [(r == 1 ? "TOKAVG_ERR_ARGUMENT" : "TOKAVG_ERR_PEER", 1) for r in 0:RANKS-1]
        group = ThreadsGroup(2)
        names = Vector{Any}(undef, 2)
        @threads for r in 0:1
            names[r+1] = thrown() do
                Context((group, r); gradient=:sum, timeout_ms=20_000) do ctx
                    r == 1 && error("mine")
                    wait(reduce!(ctx))
                end
            end
        end
        @test names[1].name == "TOKAVG_ERR_ABORTED" && names[2] == ErrorException("mine")
    end

    @testset "forgotten contexts, collected on any thread" begin
        withenv("TOKAVG_LOG" => "debug") do
            @threads for _ in 1:nthreads()
                for i in 1:200
                    ctx = self(log=(level, text) -> nothing)
                    wait(counted(ctx, Int32[1]))
                    i % 50 == 0 && GC.gc()
                end
            end
        end
        @test true
    end
end
