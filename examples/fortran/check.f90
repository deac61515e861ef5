! SPDX-License-Identifier: Apache-2.0
!> For the examples: a number that is not what was worked out by hand ends the program.
module check
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
contains
  subroutine check_number(what, got, by_hand)
    character(*), intent(in) :: what
    real(real64), intent(in) :: got, by_hand
    print '(a, 2(a, g0.9), a)', what, ': ', got, ' (by hand: ', by_hand, ')'
    if (.not. abs(got - by_hand) <= 1e-6_real64 * abs(by_hand)) error stop 1
  end subroutine check_number
end module check
