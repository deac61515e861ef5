# SPDX-License-Identifier: Apache-2.0
@testset "several arrays" begin
    ctx = self()
    count_add!(ctx, 4)
    ticket = reduce!(ctx)
    a, b, c = [4.0, 8.0], Float32[4 8; 12 16], Float16[4]
    d = fill(0x4080, 2) # 4 as a bfloat16
    g(scale!(ticket, a, b, c, reinterpret(Tokavg.BFloat16, d), Float32[]))
    @test a == [1, 2] && b == [1 2; 3 4] && c == [1] && d == [0x3f80, 0x3f80]
    count_add!(ctx, 2)
    ticket = reduce!(ctx)
    arrays = [a, [2.0]]
    g(scale!(ticket, arrays; factor=3))
    @test arrays == [[1.5, 3.0], [3.0]]
    @test fails(() -> loss!(ticket, 1.0; kind=:sum, tokens=2), "TOKAVG_ERR_STATE", "scale")
    close(ctx)
end

@testset "views" begin
    ctx = self()
    count_add!(ctx, 2)
    ticket = reduce!(ctx)
    cube() = Float64[i + 10j + 100k for i in 1:4, j in 1:3, k in 1:2]
    for part in ((1:4, 1:3, 1:2), (2:3, 1:3, 1:2), (2:3, 1:2:3, 2:-1:1), (1:4, 2:3, 1:2), (1:4, 3:-1:1, 1:2), (1:4, 1:3, 2:2),
                 (3:3, 2:2, 1:2), (1:0, 1:3, 1:2), (:, 2, :), (2:4, 1, 1))
        whole = cube()
        expected = cube()
        view(expected, part...) .*= 0.5
        g(scale!(ticket, view(whole, part...); kind=:report))
        @test whole == expected
    end
    whole = fill(4.0)
    scale!(ticket, whole; kind=:report)
    @test whole[] == 2
    @test refused(() -> scale!(ticket, view(cube(), 1:2:4, :, :)), "2 apart")
    @test refused(() -> scale!(ticket, [1.0]; factor=0), "factor is 0")
    @test refused(() -> scale!(ticket, 1:3), "UnitRange")
    @test fails(() -> scale!(ticket, Int32[1]), "TOKAVG_ERR_ARGUMENT", "dtype")
    close(ctx)
end
