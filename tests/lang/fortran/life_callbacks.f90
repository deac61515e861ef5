! SPDX-License-Identifier: Apache-2.0
!> What C calls back: a transport of one rank, and a log.
module life_callbacks
  use, intrinsic :: iso_c_binding
  use tokavg
  implicit none
  integer :: sums = 0, lines = 0
  character(:), allocatable :: last_line

contains

  !> The sum over one rank is what it was.
  integer(c_int32_t) function start_sum(user, words, n_words, request_out) bind(c)
    type(c_ptr), value :: user, words
    integer(c_int64_t), value :: n_words
    type(c_ptr), intent(out) :: request_out
    start_sum = merge(TOKAVG_OK, TOKAVG_ERR_TRANSPORT, c_associated(words) .and. n_words > 0)
    request_out = user
    sums = sums + 1
  end function start_sum

  integer(c_int32_t) function test_sum(user, request, done_out) bind(c)
    type(c_ptr), value :: user, request
    integer(c_int32_t), intent(out) :: done_out
    done_out = 1
    test_sum = merge(TOKAVG_OK, TOKAVG_ERR_TRANSPORT, c_associated(user) .eqv. c_associated(request))
  end function test_sum

  subroutine keep_line(user, level, text) bind(c)
    type(c_ptr), value :: user, text
    integer(c_int32_t), value :: level
    if (level >= TOKAVG_LOG_ERROR .and. .not. c_associated(user)) lines = lines + 1
    last_line = tokavg_text(text)
  end subroutine keep_line
end module life_callbacks
