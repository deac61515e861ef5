# SPDX-License-Identifier: Apache-2.0
# Against the formula in plain Julia: class k of token (t, s) is logits[k, t, s].
log_sum_exp(x) = maximum(x) + log(sum(exp.(x .- maximum(x))))

function by_hand(logits, labels, shift, base)
    sum = 0.0
    gradient = zeros(size(logits))
    for s in axes(labels, 2), t in axes(labels, 1)
        (t <= shift || labels[t, s] == -100) && continue
        x = Float64.(logits[:, t - shift, s])
        k = labels[t, s] - base + 1
        sum += log_sum_exp(x) - x[k]
        gradient[:, t - shift, s] .+= exp.(x .- log_sum_exp(x))
        gradient[k, t - shift, s] -= 1
    end
    return sum, gradient
end

const logits32 = Float32[sin(3k + 5t + 7s) for k in 1:5, t in 1:4, s in 1:3]
const classes = Int32[mod1(t * s + s, 5) for t in 1:4, s in 1:3]
classes[2, 2] = -100

@testset "one-based classes, shift $shift" for shift in (0, 1)
    ctx = self()
    labels = Labels(classes; shift=shift)
    ticket = counted(ctx, labels)
    n = wait(ticket).tokens[1]
    sum, gradient = by_hand(logits32, classes, shift, 1)
    out = (gradient=zeros(Float32, 5, 4, 3), losses=fill(-1f0, 4, 3), lse=fill(-1f0, 4, 3), argmax=zeros(Int32, 4, 3))
    got = g(cross_entropy!(ticket, logits32, labels; out...))
    @test got.sum ≈ sum rtol = 1e-6
    @test got.backward ≈ sum / n rtol = 1e-6
    @test out.gradient ≈ gradient ./ n rtol = 1e-5
    @test Base.sum(out.losses) ≈ sum rtol = 1e-6
    @test out.losses[2, 2] == 0
    for s in 1:3, t in 1:4
        read = t + shift <= 4 && classes[t+shift, s] != -100
        @test out.argmax[t, s] == (read ? argmax(logits32[:, t, s]) : -1)
        @test out.lse[t, s] ≈ (read ? log_sum_exp(logits32[:, t, s]) : 0) atol = 1e-6
    end
    close(ctx)
end

@testset "views, other bases, in place, one sequence" begin
    big = zeros(Float32, 7, 8, 6)
    part = view(big, 2:6, 8:-2:2, 1:2:5)
    part .= logits32
    sum, gradient = by_hand(logits32, classes, 0, 1)
    ctx = self()
    zero_based = Labels(Int64.(ifelse.(classes .== -100, -100, classes .- 1)); label_base=0)
    count!(ctx, zero_based)
    @test g(cross_entropy!(ctx, part, zero_based; gradient=part)).sum ≈ sum rtol = 1e-6
    @test part ≈ gradient rtol = 1e-5
    @test all(iszero, big[1, :, :]) && all(iszero, big[:, 1:2:7, :]) && all(iszero, big[:, :, 2:2:6])
    one = cross_entropy!(ctx, logits32[:, :, 1], classes[:, 1])
    @test one.sum ≈ by_hand(logits32[:, :, 1:1], classes[:, 1:1], 0, 1)[1] rtol = 1e-6
    close(ctx)
end

@testset "half precision" begin
    ctx = self()
    half = Float16.(logits32)
    count!(ctx, classes)
    @test cross_entropy!(ctx, half, classes).sum ≈ by_hand(half, classes, 0, 1)[1] rtol = 1e-6
    bits = UInt16.(reinterpret(UInt32, logits32) .>> 16)
    upper = reinterpret(Float32, UInt32.(bits) .<< 16)
    gradient = zeros(UInt16, size(bits))
    got = cross_entropy!(ctx, reinterpret(Tokavg.BFloat16, bits), classes; gradient=reinterpret(Tokavg.BFloat16, gradient))
    expected, expected_gradient = by_hand(upper, classes, 0, 1)
    @test got.sum ≈ expected rtol = 1e-6
    @test reinterpret(Float32, UInt32.(gradient) .<< 16) ≈ expected_gradient rtol = 1e-2
    close(ctx)
end

@testset "refused" begin
    ctx = self()
    @test fails(() -> cross_entropy!(ctx, logits32, fill(Int32(6), 4, 3)), "TOKAVG_ERR_LABEL", "6")
    @test fails(() -> cross_entropy!(ctx, logits32, fill(Int32(0), 4, 3)), "TOKAVG_ERR_LABEL", "0")
    @test refused(() -> cross_entropy!(ctx, logits32, classes[:, 1:2]), "logits")
    @test refused(() -> cross_entropy!(ctx, logits32, classes; gradient=zeros(Float32, 5, 4, 2)), "gradient")
    @test refused(() -> cross_entropy!(ctx, logits32, classes; losses=zeros(Float32, 3, 4)), "losses")
    @test refused(() -> cross_entropy!(ctx, PermutedDimsArray(logits32, (2, 1, 3)), classes[1:1, :]), "logits")
    @test refused(() -> cross_entropy!(ctx, view(zeros(Float32, 10, 4, 3), 1:2:10, :, :), classes), "neighbours")
    @test fails(() -> cross_entropy!(ctx, Float64.(logits32), classes), "TOKAVG_ERR_ARGUMENT", "logits")
    @test fails(() -> cross_entropy!(ctx, logits32, classes; argmax=zeros(Float32, 4, 3)), "TOKAVG_ERR_ARGUMENT", "argmax")
    @test fails(() -> cross_entropy!(ctx, logits32, classes; label_smoothing=2), "TOKAVG_ERR_ARGUMENT", "label_smoothing")
    @test fails(() -> wait(reduce!(ctx)), "TOKAVG_ERR_LABEL")
    close(ctx)
end
