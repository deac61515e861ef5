! SPDX-License-Identifier: Apache-2.0
!> Scaling before backward: the counts are summed over the ranks while the forward passes run.
!> mpifort check.f90 pre_scaling.f90 $(pkg-config --cflags --libs tokavg_fortran_openmpi); mpiexec -n 4 ./a.out
program pre_scaling
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use check
  use mpi_f08
  use tokavg_mpi
  implicit none
  integer, parameter :: tokens = 4, microbatches = 2
  !> A model of one weight: the loss of a token is weight * label, so that its slope is loss / weight.
  real(real64), parameter :: weight = 0.5_real64
  type(tokavg_context) :: ctx
  type(tokavg_result_t) :: result
  integer(int64) :: step
  integer(int32) :: labels(tokens, microbatches)
  real(real64) :: losses(tokens), backward, gradient, by_hand
  integer :: rank, ranks, m, r

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call tokavg_init(ctx, MPI_COMM_WORLD, TOKAVG_GRADIENT_MEAN)

  labels = labels_of(rank)
  do m = 1, microbatches
    call ctx%count(labels(:, m))
  end do
  call ctx%reduce(step)                      ! returns at once
  gradient = 0
  do m = 1, microbatches
    losses = weight * labels(:, m)           ! forward; the counts are summed meanwhile
    call ctx%loss(step, losses, labels(:, m), backward)
    gradient = gradient + backward / weight  ! backward is the loss to call backward on
  end do
  call MPI_Allreduce(MPI_IN_PLACE, gradient, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  gradient = gradient / ranks                ! this trainer averages gradients: TOKAVG_GRADIENT_MEAN
  call ctx%flush()                           ! to read the mean loss now; else the next reduce brings it
  call ctx%wait(step, TOKAVG_WAIT_LOSS, result)

  associate (all => [(labels_of(r), r=0, ranks - 1)])  ! one process that has all the data
    by_hand = real(sum(all, mask=all /= -100), real64) / count(all /= -100)
  end associate
  call check_number('mean loss', result%mean_loss(0), weight * by_hand)
  call check_number('gradient', gradient, by_hand)
  call ctx%finalize()
  call ctx%free()
  call MPI_Finalize()

contains

  !> Rank 0 scores 1 token of a microbatch, rank 1 two, ...: the ranks are uneven, as with real text.
  pure function labels_of(rank) result(labels)
    integer, intent(in) :: rank
    integer(int32) :: labels(tokens, microbatches)
    integer :: t, m
    do m = 1, microbatches
      labels(:, m) = [(merge(m + t - 1, -100, t <= 1 + modulo(rank, tokens)), t=1, tokens)]
    end do
  end function labels_of
end program pre_scaling
