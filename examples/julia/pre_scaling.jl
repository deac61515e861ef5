# SPDX-License-Identifier: Apache-2.0
# Scaling before backward: the counts are summed over the ranks while the forward passes run.
# mpiexec -n 4 julia --project pre_scaling.jl. With MPI.jl: MPI.Init(), comm = MPI.COMM_WORLD, MPI.Allreduce!(gradient, +, comm).
using Tokavg
include("check.jl")
include("../../tests/lang/julia/lang_mpi.jl")

const MICROBATCHES, TOKENS = 2, 4
# Rank 0 scores 1 token of a microbatch, rank 1 two, ...: the ranks are uneven, as with real text.
label(rank, m, t) = Int32(t <= 1 + rank % TOKENS ? m + t - 1 : -100)
# A model of one weight w: the loss of a token is w * label, so that its slope is loss / w.
const w = 0.5

function train_one_step(comm, rank, ranks)
    ctx = Context(comm; gradient=:mean)
    labels = [[label(rank, m, t) for t in 1:TOKENS] for m in 1:MICROBATCHES]
    foreach(y -> count!(ctx, y), labels)
    step = reduce!(ctx) # returns at once
    gradient = [0.0]
    for y in labels
        losses = w .* y # forward; the counts are summed meanwhile
        backward, = loss!(step, losses; labels=y) # the loss to call backward on
        gradient .+= backward / w
    end
    LangMPI.sum!(gradient)
    gradient ./= ranks # this trainer averages gradients, as DDP does: gradient=:mean
    flush!(ctx) # to read the mean loss now; else the next reduce! brings it
    result = wait(step; until=:loss)
    scored = [y for r in 0:ranks-1 for m in 1:MICROBATCHES for y in label.(r, m, 1:TOKENS) if y != -100] # one process with all data
    check_number("mean loss", result.mean_loss[1], w * sum(scored) / length(scored))
    check_number("gradient", gradient[1], sum(scored) / length(scored))
    finalize!(ctx)
    close(ctx)
end

LangMPI.start()
train_one_step(LangMPI.split(LangMPI.size()), LangMPI.rank(), LangMPI.size())
LangMPI.free_split()
LangMPI.stop()
