# SPDX-License-Identifier: Apache-2.0
# The little of MPI that drivers and examples need (../mpi/lang_mpi.h), from the library that TOKAVG_LANG_MPI names. With MPI.jl it
# is MPI.Init, MPI.Comm_rank, MPI.Comm_size, MPI.Allreduce! and MPI.Finalize.
module LangMPI

import Libdl

const library = Ref{Ptr{Cvoid}}(C_NULL)
pointer_to(name) = Libdl.dlsym(library[], name)

function start(; plain=false)
    # MPI loads parts of its own, which look for its symbols in the whole process.
    library[] = Libdl.dlopen(ENV["TOKAVG_LANG_MPI"], Libdl.RTLD_NOW | Libdl.RTLD_GLOBAL)
    ccall(pointer_to(:lang_mpi_start), Int32, (Int32,), plain)
end
rank() = Int(ccall(pointer_to(:lang_mpi_rank), Int32, ()))
size() = Int(ccall(pointer_to(:lang_mpi_size), Int32, ()))
"The address of a communicator of the first `ranks` ranks; C_NULL on the others."
split(ranks) = ccall(pointer_to(:lang_mpi_split), Ptr{Cvoid}, (Int32,), ranks)
split_fortran() = ccall(pointer_to(:lang_mpi_split_fortran), Int32, ())
free_split() = ccall(pointer_to(:lang_mpi_free_split), Cvoid, ())
"Sums an array over the ranks, in place."
sum!(values::Vector{Float64}) = ccall(pointer_to(:lang_mpi_sum), Cvoid, (Ptr{Float64}, Int32), values, length(values))
stop() = ccall(pointer_to(:lang_mpi_stop), Cvoid, ())

end
