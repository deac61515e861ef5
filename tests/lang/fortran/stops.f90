! SPDX-License-Identifier: Apache-2.0
!> stops CASE: without stat= the program ends with the library's text; stops.py looks at it from outside.
program stops
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use tokavg
  use unit, only: new_context
  implicit none
  type(tokavg_context) :: ctx
  integer(int64) :: step
  integer(int32) :: labels(3) = 1
  real(real64) :: gradient(2, 2) = 1
  character(20) :: name
  character(80) :: errmsg
  call get_command_argument(1, name)
  ctx = new_context()
  select case (name)
  case ('library')
    call ctx%count(labels, term=5)
  case ('errmsg')
    ! As with ALLOCATE: errmsg= alone does not go on.
    call ctx%count(labels, term=5, errmsg=errmsg)
  case ('binding')
    call ctx%reduce(step)
    call ctx%scale(step, gradient(1, :))
  case ('pending')
    call ctx%count(labels)
    call ctx%reduce(step)
    call ctx%wait(step, TOKAVG_WAIT_LOSS)
  case ('init')
    call tokavg_init(ctx, tokavg_config_t(gradient_reduction=TOKAVG_GRADIENT_SUM))
  case ('empty')
    ! A remark, no error.
    call ctx%reduce(step)
    call ctx%wait(step, TOKAVG_WAIT_COUNT)
  end select
  print '(a)', 'went on'
end program stops
