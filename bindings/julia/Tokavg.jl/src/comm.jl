# SPDX-License-Identifier: Apache-2.0
# How a context reaches the other ranks. Each method sets its fields of the configuration and returns what must stay alive until
# the context is made; the transport table of a caller until it is closed.

function set_comm!(config, comm::Symbol)
    comm === :self || refuse("comm is :", comm, "; the one name is :self, other communicators are given themselves")
    config.comm_kind = LibTokavg.TOKAVG_COMM_SELF
    return nothing
end

function set_comm!(config, comm::Tuple{ThreadsGroup,Integer})
    config.comm_kind = LibTokavg.TOKAVG_COMM_THREADS
    config.comm = comm[1].handle
    config.comm_rank = comm[2]
    return comm
end

# The address of an MPI_Comm.
function set_comm!(config, comm::Ptr)
    config.comm_kind = LibTokavg.TOKAVG_COMM_MPI
    config.comm = comm
    return nothing
end

function set_comm!(config, comm::Ref{T}) where {T}
    # MPICH's handle is an int, Open MPI's an address.
    isbitstype(T) && sizeof(T) in (4, 8) || refuse("comm is a ", typeof(comm), ", which cannot hold an MPI_Comm")
    config.comm_kind = LibTokavg.TOKAVG_COMM_MPI
    config.comm = Base.unsafe_convert(Ptr{T}, comm)
    return comm
end

function set_comm!(config, table::LibTokavg.tokavg_transport_t)
    config.comm_kind = LibTokavg.TOKAVG_COMM_CALLER
    config.comm = address(table)
    return table
end

# MPI.jl's communicators, without depending on MPI.jl: the field `val` is the MPI_Comm.
function set_comm!(config, comm)
    hasproperty(comm, :val) && return set_comm!(config, Ref(comm.val))
    refuse("comm is a ", typeof(comm), "; it must be :self, (ThreadsGroup, rank), a communicator of MPI.jl, a Ref or Ptr to an ",
           "MPI_Comm or a tokavg_transport_t")
end

function set_comm!(config, comm, fortran, nccl)
    count(x -> x !== nothing, (comm, fortran, nccl)) == 1 || refuse("give one of comm, fortran and nccl")
    if fortran !== nothing
        config.comm_kind = LibTokavg.TOKAVG_COMM_MPI_FORTRAN
        config.comm_fortran = fortran
        return nothing
    elseif nccl !== nothing
        config.comm_kind = LibTokavg.TOKAVG_COMM_NCCL
        config.comm = nccl isa Ptr ? nccl : Ptr{Cvoid}(UInt(nccl.handle))
        return nccl
    end
    return set_comm!(config, comm)
end
