# SPDX-License-Identifier: Apache-2.0
@testset "before backward" begin
    ctx = g(self(gradient_ranks=4, accumulation_divisor=2))
    labels = Int32[5, -100, 7]
    g(count!(ctx, labels))
    ticket = g(reduce!(ctx; step_id=17))
    losses = [1.0, NaN, 3.0]
    backward, sum = g(loss!(ticket, losses; labels=labels, loss_scale=10))
    @test sum == 4
    @test backward ≈ 4 * (4 * 2 / 2) * 10
    g(flush!(ctx))
    result = g(wait(ticket; until=:loss))
    @test result.status === :ok
    @test result.step_id == 17
    @test result.tokens == [2] == result.loss_tokens
    @test result.mean_loss == [2.0]
    @test result.loss_ready && !result.audit_failed && !result.unaudited
    @test result.factor[1] == g(factor(ticket)) == 4
    @test g(factor(ticket; kind=:report)) == 0.5
    @test g(factor(ticket; kind=:microbatch)) == 8
    @test loss!(ticket, losses; labels=labels, backward=false, sum=false) == (backward=nothing, sum=nothing)
    g(progress!(ctx))
    finalize!(ctx)
    close(ctx)
end

@testset "after backward" begin
    ctx = self()
    gradient = [6.0, 9.0]
    for m in 1:3
        count!(ctx, Int64[m, m])
        @test loss!(ctx, Float32(m); kind=:mean, tokens=2).sum == 2m
    end
    count!(ctx, [1])
    loss!(ctx, [100.0])
    discard!(ctx)
    @test fails(() -> discard!(ctx), "TOKAVG_ERR_STATE")
    # That failure is this rank's own, and ends the step.
    ticket = reduce!(ctx)
    @test fails(() -> wait(ticket), "TOKAVG_ERR_STATE")
    for m in 1:3
        count_add!(ctx, 2)
        loss!(ctx, m; kind=:sum)
    end
    count!(ctx, [1])
    loss!(ctx, [100.0])
    discard!(ctx)
    ticket = reduce!(ctx; accumulation_divisor=2)
    g(scale!(ticket, gradient))
    @test gradient == [2.0, 3.0]
    result = wait(ticket; until=:loss)
    @test result.unaudited && result.microbatches == 3 && result.mean_loss == [1.0]
    close(ctx)
end

@testset "empty and pending are values" begin
    ctx = self()
    ticket = reduce!(ctx)
    @test wait(ticket).status === :empty
    @test factor(ticket) == 0
    gradient = [NaN, 1.0]
    scale!(ticket, gradient)
    @test gradient == [0, 0]
    count_add!(ctx, 4)
    ticket = reduce!(ctx)
    @test wait(ticket).status === :ok
    loss!(ticket, 2.0; kind=:sum, tokens=4)
    # Nobody has sent them: this does not wait for the deadline.
    @test wait(ticket; until=:loss).status === :pending
    @test wait(ticket; until=:loss, timeout_ms=0).status === :pending
    @test occursin("tokavg_flush", Tokavg.last_error(ctx))
    flush!(ctx)
    @test wait(ticket; until=:loss, timeout_ms=1000).status === :ok
    close(ctx)
end

@testset "terms, masks, weights, done" begin
    ctx = self(terms=2, divisor=:weights)
    count!(ctx, Int32[1, 2, 3]; mask=Bool[1, 0, 1], weights=[0.5, 9, 0.25])
    count!(ctx, Int32[1, 2, 3]; term=2, shift=1, weights=Float32[1, 2, 3], same_microbatch=true)
    ticket = reduce!(ctx; done=true)
    result = wait(ticket)
    @test result.tokens == [2, 2]
    @test result.weight_sum == [0.75, 5.0]
    @test result.microbatches == 1 && result.done_ranks == 1 == result.label_ranks
    @test factor(ticket; term=2) == 1 / 5
    @test fails(() -> factor(ticket; term=3), "TOKAVG_ERR_ARGUMENT", "term")
    @test fails(() -> count!(ctx, Int32[1]), "TOKAVG_ERR_STATE")
    close(ctx)
end

@testset "old tickets" begin
    ctx = self(in_flight=2)
    tickets = [reduce!(ctx) for _ in 1:5]
    @test [ticket.id for ticket in tickets] == 1:5
    @test fails(() -> wait(tickets[1]), "TOKAVG_ERR_STALE", "in_flight")
    release!(tickets[5])
    @test fails(() -> factor(tickets[5]), "TOKAVG_ERR_STALE", "released")
    close(ctx)
end
