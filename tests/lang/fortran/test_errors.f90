! SPDX-License-Identifier: Apache-2.0
!> stat= and errmsg=, and that an open step is marked when the binding itself refuses.
program test_errors
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  use tokavg
  use unit
  implicit none
  type(tokavg_context) :: ctx, none
  type(tokavg_result_t) :: result
  integer(int32), target :: labels(4) = 1
  integer(int8), target :: mask(3) = 1
  integer(int32) :: stat
  integer(int64) :: step
  character(400) :: long_text
  character(12) :: short_text
  character(:), allocatable :: whole

  ctx = new_context()

  ! Text, and blanks up to the end.
  long_text = repeat('x', len(long_text))
  call ctx%count(labels, term=7, stat=stat, errmsg=long_text)
  call check(stat == TOKAVG_ERR_ARGUMENT, 'a term that is not there is an argument error')
  whole = ctx%last_error()
  call check(len(whole) > len(short_text) .and. index(whole, '7') > 0, 'the text names the value: ' // whole)
  call check(long_text == whole, 'errmsg has the library''s text')
  call check(verify(long_text(len(whole) + 1:), ' ') == 0, 'errmsg is padded with blanks')

  ! A short errmsg takes the beginning.
  call ctx%count(labels, term=7, stat=stat, errmsg=short_text)
  call check(short_text == whole(:len(short_text)), 'errmsg is cut')

  ! As with ALLOCATE, it stays as it is without an error.
  short_text = 'untouched'
  call ctx%progress(stat, short_text)
  call check(stat == TOKAVG_OK .and. short_text == 'untouched', 'errmsg stays without an error')

  ! The library was told: the step has failed.
  call ctx%reduce(step)
  call ctx%wait(step, TOKAVG_WAIT_COUNT, result, stat=stat)
  call check(stat == TOKAVG_ERR_ARGUMENT, 'the step of a refused count has failed')
  call check(ieee_is_nan(ctx%factor(step, stat=stat)) .and. stat < 0, 'a factor that is not there is NaN')

  ! What the binding refuses fails the step too.
  call ctx%count(labels, mask=mask, stat=stat, errmsg=long_text)
  call check(stat == TOKAVG_ERR_ARGUMENT, 'a mask of another shape is refused')
  call check(long_text == 'mask has another shape than labels', 'and says why: ' // trim(long_text))
  call ctx%count(labels, weights=[1.0_real64, 2.0_real64], stat=stat, errmsg=long_text)
  call check(long_text == 'weights has another shape than labels', 'and of weights: ' // trim(long_text))
  call ctx%reduce(step)
  call ctx%wait(step, TOKAVG_WAIT_COUNT, result, stat=stat)
  call check(stat == TOKAVG_ERR_ARGUMENT, 'the step that the binding refused has failed')

  ! Remarks.
  call ctx%reduce(step)
  call ctx%wait(step, TOKAVG_WAIT_COUNT, result, stat=stat)
  call check(stat == TOKAVG_EMPTY .and. result%tokens(0) == 0, 'an empty step is a remark')
  call ctx%count(labels)
  call ctx%reduce(step)
  call ctx%wait(step, TOKAVG_WAIT_LOSS, result, timeout_ms=0, stat=stat, errmsg=long_text)
  call check(stat == TOKAVG_PENDING .and. index(long_text, 'tokavg_flush') > 0, 'what is missing: ' // trim(long_text))

  ! Handles that are none.
  call none%count(labels, stat=stat, errmsg=long_text)
  call check(stat == TOKAVG_ERR_HANDLE .and. long_text /= '', 'no context: ' // trim(long_text))
  call none%free(stat)
  call check(stat == TOKAVG_OK, 'to free nothing is nothing')
  none = ctx
  call ctx%free()
  call ctx%free(stat)
  call check(stat == TOKAVG_OK, 'free twice')
  call none%free(stat, long_text)
  call check(stat == TOKAVG_ERR_HANDLE .and. long_text /= '', 'a copy of a freed context: ' // trim(long_text))

  ! Before there is a context.
  call tokavg_init(ctx, tokavg_config_t(comm_kind=TOKAVG_COMM_SELF), stat, long_text)
  call check(stat == TOKAVG_ERR_CONFIG .and. index(long_text, 'gradient_reduction') > 0, 'init: ' // trim(long_text))
  call check(long_text == tokavg_last_error(), 'the same text as the thread''s')
  call check(tokavg_status_name(TOKAVG_ERR_PEER) == 'TOKAVG_ERR_PEER', 'names of status')
  deallocate (whole)
  call finish()
end program test_errors
