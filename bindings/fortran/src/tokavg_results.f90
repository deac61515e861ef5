! SPDX-License-Identifier: Apache-2.0
!> The third part of tokavg_context: what a closed step holds.
module tokavg_results
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use, intrinsic :: iso_c_binding
  use tokavg_c, only: c_factor, c_factor_device, c_release, &
      c_wait
  use tokavg_errors, only: settle
  use tokavg_steps, only: stream_of, tokavg_stepper
  use tokavg_types
  implicit none
  private
  public :: tokavg_reader

  type, extends(tokavg_stepper) :: tokavg_reader
  contains
    procedure :: factor
    procedure :: factor_device
    procedure :: release
    procedure :: wait
  end type tokavg_reader

contains

  !> what: TOKAVG_WAIT_COUNT or TOKAVG_WAIT_LOSS. timeout_ms: until the deadline unless given; with it, or with
  !> TOKAVG_WAIT_LOSS, stat can be TOKAVG_PENDING.
  subroutine wait(self, ticket, what, result, timeout_ms, stat, errmsg)
    class(tokavg_reader), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int32_t), intent(in) :: what
    type(tokavg_result_t), intent(inout), optional, target :: result
    integer(c_int32_t), intent(in), optional :: timeout_ms
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: milliseconds
    type(c_ptr) :: into
    milliseconds = -1
    if (present(timeout_ms)) milliseconds = timeout_ms
    into = c_null_ptr
    if (present(result)) into = c_loc(result)
    call settle(c_wait(self%handle, ticket, what, milliseconds, into), self%handle, 'wait', stat, errmsg)
  end subroutine wait

  !> kind: TOKAVG_FACTOR_SCALE unless given. NaN where the call fails.
  function factor(self, ticket, kind, term, stat, errmsg) result(value)
    class(tokavg_reader), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int32_t), intent(in), optional :: kind, term
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(c_double) :: value
    integer(c_int32_t) :: of_kind, of_term
    of_kind = TOKAVG_FACTOR_SCALE
    if (present(kind)) of_kind = kind
    of_term = 0
    if (present(term)) of_term = term
    value = ieee_value(value, ieee_quiet_nan)
    call settle(c_factor(self%handle, ticket, of_term, of_kind, value), self%handle, 'factor', stat, errmsg)
  end function factor

  !> The address of a float in device memory; NULL where the call fails.
  function factor_device(self, ticket, kind, term, stream, stat, errmsg) result(address)
    class(tokavg_reader), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int32_t), intent(in), optional :: kind, term
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: address
    integer(c_int32_t) :: of_kind, of_term
    of_kind = TOKAVG_FACTOR_SCALE
    if (present(kind)) of_kind = kind
    of_term = 0
    if (present(term)) of_term = term
    address = c_null_ptr
    call settle(c_factor_device(self%handle, ticket, of_term, of_kind, stream_of(stream), address), self%handle, &
        'factor_device', stat, errmsg)
  end function factor_device

  subroutine release(self, ticket, stat, errmsg)
    class(tokavg_reader), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_release(self%handle, ticket), self%handle, 'release', stat, errmsg)
  end subroutine release
end module tokavg_results
