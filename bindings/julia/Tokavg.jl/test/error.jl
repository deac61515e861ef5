# SPDX-License-Identifier: Apache-2.0
@testset "what an error says" begin
    error = g(thrown(() -> self(terms=9)))
    @test error isa TokavgError
    @test (error.name, error.status, error.call) == ("TOKAVG_ERR_CONFIG", C.TOKAVG_ERR_CONFIG, "tokavg_init")
    @test occursin("terms", error.text)
    @test startswith(sprint(showerror, error), "TokavgError: tokavg_init: TOKAVG_ERR_CONFIG: ")
    @test thrown(() -> Context(:self)) isa UndefKeywordError # gradient has no default: it must be said
    @test refused(() -> Context(:self; gradient=:median), ":median", ":mean", ":sum")
    @test refused(() -> Context(:world; gradient=:mean), ":world")
end

@testset "a failed step" begin
    ctx = self()
    @test g(fails(() -> count!(ctx, Int32[1]; weights=[Inf]), "TOKAVG_ERR_WEIGHT", "weight"))
    ticket = g(reduce!(ctx))
    error = thrown(() -> wait(ticket))
    @test error.name == "TOKAVG_ERR_WEIGHT"
    @test error.result.status === :failed && error.result.failed_ranks == 1
    @test error.ticket.id == ticket.id
    @test fails(() -> factor(ticket), "TOKAVG_ERR_WEIGHT")
    @test fails(() -> scale!(ticket, [1.0]), "TOKAVG_ERR_WEIGHT")
    # A reduce that fails uses its ticket up.
    error = thrown(() -> reduce!(ctx; accumulation_divisor=-1))
    @test error.name == "TOKAVG_ERR_ARGUMENT" && error.ticket.id == 2
    @test wait(reduce!(ctx)).status === :empty
    close(ctx)
end

@testset "abort" begin
    ctx = self()
    ticket = reduce!(ctx)
    Tokavg.abort(ctx)
    @test g(fails(() -> wait(ticket), "TOKAVG_ERR_ABORTED"))
    error = thrown(() -> reduce!(ctx))
    @test error.name == "TOKAVG_ERR_ABORTED" && error.ticket === nothing
    close(ctx)
end

@testset "no library" begin
    # In a process of its own: the package loads without it.
    program = "using Tokavg; try Tokavg.version() catch e; print(sprint(showerror, e)) end; ENV[\"TOKAVG_LIBRARY\"] = " *
              "\"$(C.library_path())\"; print(Tokavg.version())"
    command = `$(Base.julia_cmd()) --startup-file=no --project=$(Base.active_project()) -e $program`
    text = withenv(() -> read(command, String), "TOKAVG_LIBRARY" => "/nowhere/libtokavg.so.1")
    @test occursin("/nowhere/libtokavg.so.1", text)
    @test occursin("TOKAVG_LIBRARY", text)
    @test endswith(text, string(Tokavg.version())) # named later, found later
end
