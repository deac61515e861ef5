# SPDX-License-Identifier: Apache-2.0
# A context is freed after MPI_Finalize: by close, and another by the garbage collector.
using Tokavg
include("lang_mpi.jl")

function main()
    LangMPI.start()
    comm = LangMPI.split(LangMPI.size())
    options = (gradient=:mean, timeout_ms=30_000)
    ctx = Context(comm; options...)
    Context(; fortran=LangMPI.split_fortran(), options...)
    count!(ctx, Int32[1, 2, -100])
    ticket = reduce!(ctx)
    wait(ticket).tokens == [2 * LangMPI.size()] || error("wrong count")
    LangMPI.free_split()
    LangMPI.stop()
    GC.gc()
    close(ctx)
    GC.gc()
    println("freed")
end

main()
