! SPDX-License-Identifier: Apache-2.0
!> What count and reduce cost through the module and in C, in turns, on one rank: medians.
program overhead
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use tokavg
  use unit, only: new_context
  implicit none
  integer, parameter :: rounds = 2001, calls = 64, seq = 64, batch = 2
  interface
    subroutine steps_in_c(ctx, labels, rows, cols, calls) bind(c)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int32_t), intent(in) :: labels(*)
      integer(c_int64_t), value :: rows, cols
      integer(c_int32_t), value :: calls
    end subroutine steps_in_c
  end interface
  type(tokavg_context) :: ctx
  integer(int32) :: labels(seq, batch)
  real(real64) :: in_c(rounds), in_fortran(rounds)
  integer(int64) :: begin, end, rate, step
  integer :: round, i
  labels = 1
  ctx = new_context()
  call system_clock(begin, rate)
  do round = 1, rounds
    call system_clock(begin)
    call steps_in_c(ctx%handle, labels, int(batch, c_int64_t), int(seq, c_int64_t), calls)
    call system_clock(end)
    in_c(round) = real(end - begin, real64) / rate / calls
    call system_clock(begin)
    do i = 1, calls
      call ctx%count(labels)
      call ctx%reduce(step)
    end do
    call system_clock(end)
    in_fortran(round) = real(end - begin, real64) / rate / calls
  end do
  call ctx%free()
  print '(3(a, f0.1), a)', 'count and reduce: ', 1e9_real64 * median(in_c), ' ns in C, ', &
      1e9_real64 * median(in_fortran), ' ns in Fortran: ', 1e9_real64 * (median(in_fortran) - median(in_c)), ' ns more'
  print '(a, l1)', 'goal (at most 500 ns more) met: ', median(in_fortran) - median(in_c) < 5e-7_real64

contains

  pure real(real64) function median(values)
    real(real64), intent(in) :: values(:)
    real(real64) :: sorted(size(values)), value
    integer :: i, j
    sorted = values
    do i = 2, size(sorted)
      value = sorted(i)
      j = i - 1
      do while (j >= 1)
        if (sorted(j) <= value) exit
        sorted(j + 1) = sorted(j)
        j = j - 1
      end do
      sorted(j + 1) = value
    end do
    median = sorted((size(sorted) + 1) / 2)
  end function median
end program overhead
