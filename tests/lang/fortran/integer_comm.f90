! SPDX-License-Identifier: Apache-2.0
!> A communicator of the module mpi, an application that calls MPI_Init, and a context that outlives MPI.
program integer_comm
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use mpi
  use tokavg
  use unit
  implicit none
  type(tokavg_context) :: ctx, late
  type(tokavg_config_t) :: config
  type(tokavg_result_t) :: result
  integer(int64) :: step
  integer(int32) :: stat
  integer :: rank, ranks, error, i
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call tokavg_init(ctx, MPI_COMM_WORLD, TOKAVG_GRADIENT_MEAN)
  config%gradient_reduction = TOKAVG_GRADIENT_SUM
  call tokavg_init(late, MPI_COMM_WORLD, config)
  call ctx%count([(1, i=0, rank)])
  call ctx%reduce(step)
  call ctx%wait(step, TOKAVG_WAIT_COUNT, result)
  call check(result%tokens(0) == ranks * (ranks + 1) / 2 .and. result%ranks == ranks, 'the sum over the ranks')
  call check_near(ctx%factor(step), 2.0_real64 / (ranks + 1), 'G / Z')
  call ctx%finalize()
  call MPI_Finalize(error)
  call ctx%free(stat)
  call check(stat == TOKAVG_OK, 'free after MPI_Finalize')
  call late%free(stat)
  call check(stat == TOKAVG_OK, 'free without finalize after MPI_Finalize')
  call finish()
end program integer_comm
