# SPDX-License-Identifier: Apache-2.0
# Needs libtokavg (TOKAVG_LIBRARY, or the loader's path) and the standard library alone; `Pkg.test("Tokavg")` runs it too.
using Test
using Tokavg
const C = Tokavg.LibTokavg

include("support.jl")

@testset "Tokavg" begin
    @testset "$name" for name in ("layout", "life", "step", "array", "cross_entropy", "scale", "error", "comm", "log", "threads",
                                  "device")
        include(joinpath(@__DIR__, "$name.jl"))
    end
end
