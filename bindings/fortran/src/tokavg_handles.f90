! SPDX-License-Identifier: Apache-2.0
!> The first part of tokavg_context: its end, and its texts. The type grows by extension from module to module, so that
!> each of them stays small.
module tokavg_handles
  use, intrinsic :: iso_c_binding
  use tokavg_c, only: c_abort, c_finalize, c_free
  use tokavg_errors, only: settle, tokavg_describe, tokavg_last_error
  implicit none
  private
  public :: tokavg_handle

  type :: tokavg_handle
    !> The tokavg_context_t *. A copy of the variable names the same context.
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: abort
    procedure :: describe
    procedure :: finalize
    procedure :: free
    procedure :: last_error
  end type tokavg_handle

contains

  subroutine finalize(self, stat, errmsg)
    class(tokavg_handle), intent(in) :: self
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_finalize(self%handle), self%handle, 'finalize', stat, errmsg)
  end subroutine finalize

  !> Local, legal at any time, also twice.
  subroutine free(self, stat, errmsg)
    class(tokavg_handle), intent(inout) :: self
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call settle(c_free(handle), c_null_ptr, 'free', stat, errmsg)
  end subroutine free

  !> From any thread.
  subroutine abort(self, stat, errmsg)
    class(tokavg_handle), intent(in) :: self
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_abort(self%handle), self%handle, 'abort', stat, errmsg)
  end subroutine abort

  function describe(self) result(text)
    class(tokavg_handle), intent(in) :: self
    character(:), allocatable :: text
    text = tokavg_describe(self%handle)
  end function describe

  function last_error(self) result(text)
    class(tokavg_handle), intent(in) :: self
    character(:), allocatable :: text
    text = tokavg_last_error(self%handle)
  end function last_error
end module tokavg_handles
