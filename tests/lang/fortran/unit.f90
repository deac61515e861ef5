! SPDX-License-Identifier: Apache-2.0
!> The little that these tests need: checks that are counted, and contexts of one rank.
module unit
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, real64
  use tokavg
  implicit none
  private
  public :: check, check_near, finish, new_context

  integer :: failed = 0, done = 0

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    done = done + 1
    if (holds) return
    failed = failed + 1
    write (error_unit, '(2a)') 'not so: ', what
  end subroutine check

  subroutine check_near(got, expected, what)
    real(real64), intent(in) :: got, expected
    character(*), intent(in) :: what
    call check(abs(got - expected) <= 1e-6_real64 * max(1.0_real64, abs(expected)), what)
    if (.not. abs(got - expected) <= 1e-6_real64 * max(1.0_real64, abs(expected))) then
      write (error_unit, '(2(a, g0))') '  got ', got, ', expected ', expected
    end if
  end subroutine check_near

  subroutine finish()
    print '(i0, a, i0, a)', done, ' checks, ', failed, ' failed'
    if (failed > 0) error stop 1
  end subroutine finish

  !> On this rank alone, gradients summed.
  function new_context(terms, divisor) result(ctx)
    integer(int32), intent(in), optional :: terms, divisor
    type(tokavg_context) :: ctx
    type(tokavg_config_t) :: config
    config = tokavg_config_t(comm_kind=TOKAVG_COMM_SELF, gradient_reduction=TOKAVG_GRADIENT_SUM)
    if (present(terms)) config%terms = terms
    if (present(divisor)) config%divisor = divisor
    call tokavg_init(ctx, config)
  end function new_context
end module unit
