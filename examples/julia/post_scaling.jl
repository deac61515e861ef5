# SPDX-License-Identifier: Apache-2.0
# Scaling after backward: data streams in, nobody knows how much is left, and the gradients are scaled at the end.
# mpiexec -n 4 julia --project post_scaling.jl. With MPI.jl: MPI.Init(), comm = MPI.COMM_WORLD, MPI.Allreduce!(gradient, +, comm).
using Tokavg
include("check.jl")
include("../../tests/lang/julia/lang_mpi.jl")

# Rank r finds r microbatches of 1, 2, ... tokens; rank 0 finds none and takes part all the same.
microbatches(rank) = ([Int32(t <= m ? rank + t : -100) for t in 1:8] for m in 1:rank)
# A model of one weight w: the loss of a token is w * label, so that its slope is the label.
const w = 0.5

function train_one_step(comm, ranks, rank)
    Context(comm; gradient=:sum) do ctx
        gradient = [0.0]
        for y in microbatches(rank)
            count!(ctx, y)
            scored = y[y .!= -100]
            total = w * sum(scored) # forward and backward of the sum: nothing is divided yet
            gradient .+= total / w
            loss!(ctx, total; kind=:sum, tokens=length(scored))
        end
        step = reduce!(ctx) # the counts are summed while the gradients are
        LangMPI.sum!(gradient)
        scale!(step, gradient) # before clipping and the optimiser
        result = wait(step; until=:loss)
        all_scored = [y for r in 0:ranks-1 for labels in microbatches(r) for y in labels if y != -100] # one process with all data
        check_number("mean loss", result.mean_loss[1], w * sum(all_scored) / length(all_scored))
        check_number("gradient", gradient[1], sum(all_scored) / length(all_scored))
    end
end

LangMPI.start()
train_one_step(LangMPI.split(LangMPI.size()), LangMPI.size(), LangMPI.rank())
LangMPI.free_split()
LangMPI.stop()
