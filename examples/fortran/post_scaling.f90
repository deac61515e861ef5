! SPDX-License-Identifier: Apache-2.0
!> Scaling after backward: data streams in, nobody knows how much is left, and the gradients are scaled at the end.
!> mpifort check.f90 post_scaling.f90 $(pkg-config --cflags --libs tokavg_fortran_openmpi); mpiexec -n 4 ./a.out
program post_scaling
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use check
  use mpi_f08
  use tokavg_mpi
  implicit none
  integer, parameter :: longest = 8
  !> A model of one weight: the loss of a token is weight * label, so that its slope is the label.
  real(real64), parameter :: weight = 0.5_real64
  type(tokavg_context) :: ctx
  type(tokavg_result_t) :: result
  integer(int64) :: step
  integer(int32) :: labels(longest)
  real(real64) :: gradient(1), loss, sum_by_hand, tokens
  integer :: rank, ranks, m, r

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call tokavg_init(ctx, MPI_COMM_WORLD, TOKAVG_GRADIENT_SUM)

  gradient = 0
  do m = 1, rank  ! rank r finds r microbatches of 1, 2, ... tokens; rank 0 finds none and takes part all the same
    labels = labels_of(rank, m)
    call ctx%count(labels)
    loss = weight * sum(labels, mask=labels /= -100)  ! forward and backward of the sum: nothing is divided yet
    gradient = gradient + loss / weight
    call ctx%loss_sum(TOKAVG_OPEN, loss, tokens=count(labels /= -100, kind=int64))
  end do
  call ctx%reduce(step)                               ! the counts are summed while the gradients are
  call MPI_Allreduce(MPI_IN_PLACE, gradient, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call ctx%scale(step, gradient)                      ! before clipping and the optimiser
  call ctx%wait(step, TOKAVG_WAIT_LOSS, result)

  sum_by_hand = 0
  tokens = 0
  do r = 0, ranks - 1                                 ! one process that has all the data
    do m = 1, r
      labels = labels_of(r, m)
      sum_by_hand = sum_by_hand + sum(labels, mask=labels /= -100)
      tokens = tokens + count(labels /= -100)
    end do
  end do
  call check_number('mean loss', result%mean_loss(0), weight * sum_by_hand / max(tokens, 1.0_real64))
  call check_number('gradient', gradient(1), sum_by_hand / max(tokens, 1.0_real64))
  call ctx%finalize()
  call ctx%free()
  call MPI_Finalize()

contains

  pure function labels_of(rank, m) result(labels)
    integer, intent(in) :: rank, m
    integer(int32) :: labels(longest)
    integer :: t
    labels = [(merge(rank + t, -100, t <= 1 + modulo(m - 1, longest)), t=1, longest)]
  end function labels_of
end program post_scaling
