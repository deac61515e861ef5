! SPDX-License-Identifier: Apache-2.0
!> Texts of the library, and what becomes of a status: stat= and errmsg= as ALLOCATE has them.
module tokavg_errors
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use tokavg_c, only: c_describe, c_last_error, &
      c_status_name, c_version
  use tokavg_types, only: TOKAVG_EMPTY, TOKAVG_ERR_ARGUMENT, TOKAVG_ERR_HANDLE, TOKAVG_OK
  implicit none
  private
  public :: tokavg_describe, tokavg_last_error, tokavg_status_name, tokavg_text, tokavg_version
  public :: refuse, settle

  interface
    integer(c_size_t) function strlen(text) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
    end function strlen
  end interface

contains

  !> A C text as a Fortran text.
  function tokavg_text(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    text = ''
    if (.not. c_associated(address)) return
    call c_f_pointer(address, characters, [strlen(address)])
    text = repeat(' ', size(characters))
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function tokavg_text

  function tokavg_version() result(text)
    character(:), allocatable :: text
    text = tokavg_text(c_version())
  end function tokavg_version

  function tokavg_status_name(status) result(text)
    integer(c_int32_t), intent(in) :: status
    character(:), allocatable :: text
    text = tokavg_text(c_status_name(status))
  end function tokavg_status_name

  !> The library, or the context of a handle, as one JSON object.
  function tokavg_describe(handle) result(text)
    type(c_ptr), intent(in), optional :: handle
    character(:), allocatable :: text
    type(c_ptr) :: ctx
    character(kind=c_char) :: none(1)
    character(kind=c_char), allocatable, target :: characters(:)
    integer(c_int64_t) :: needed, again
    ctx = c_null_ptr
    if (present(handle)) ctx = handle
    text = ''
    needed = 0
    if (c_describe(ctx, none, 1_c_int64_t, needed) /= TOKAVG_OK) return
    allocate (characters(needed))
    if (c_describe(ctx, characters, needed, again) == TOKAVG_OK) text = tokavg_text(c_loc(characters))
  end function tokavg_describe

  !> The text of the last error: of the context of a handle, or of this thread where there was no context.
  function tokavg_last_error(handle) result(text)
    type(c_ptr), intent(in), optional :: handle
    character(:), allocatable :: text
    type(c_ptr) :: ctx
    character(kind=c_char) :: none(1)
    character(kind=c_char), allocatable, target :: characters(:)
    integer(c_int64_t) :: needed, again
    ctx = c_null_ptr
    if (present(handle)) ctx = handle
    text = ''
    needed = 0
    if (c_last_error(ctx, none, 1_c_int64_t, needed) /= TOKAVG_OK) return
    allocate (characters(needed))
    if (c_last_error(ctx, characters, needed, again) == TOKAVG_OK) text = tokavg_text(c_loc(characters))
  end function tokavg_last_error

  !> What follows from the status of a call on a context. Without stat= a step that is not complete stops the program
  !> too: nobody could see that it is not.
  subroutine settle(status, handle, call, stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    type(c_ptr), intent(in) :: handle
    character(*), intent(in) :: call
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    if (present(stat)) stat = status
    if (status == TOKAVG_OK .or. status == TOKAVG_EMPTY) return
    if (present(stat) .and. .not. present(errmsg)) return
    text = ''
    if (status /= TOKAVG_ERR_HANDLE .and. c_associated(handle)) text = tokavg_last_error(handle)
    if (len(text) == 0) text = tokavg_last_error()
    call report(status, call, text, present(stat), errmsg)
  end subroutine settle

  !> The binding itself refuses a call. `marked` is the status of the same call with NULL: it told the library that the
  !> open step has failed here, so that the other ranks learn of it as they do when the library refuses.
  subroutine refuse(marked, handle, call, text, stat, errmsg)
    integer(c_int32_t), intent(in) :: marked
    type(c_ptr), intent(in) :: handle
    character(*), intent(in) :: call, text
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (marked /= TOKAVG_ERR_ARGUMENT) then
      call settle(marked, handle, call, stat, errmsg)
      return
    end if
    if (present(stat)) stat = marked
    call report(marked, call, text, present(stat), errmsg)
  end subroutine refuse

  subroutine report(status, call, text, has_stat, errmsg)
    integer(c_int32_t), intent(in) :: status
    character(*), intent(in) :: call, text
    logical, intent(in) :: has_stat
    character(*), intent(inout), optional :: errmsg
    if (present(errmsg)) errmsg = text
    if (has_stat) return
    write (error_unit, '(a)') 'tokavg: ' // call // ': ' // tokavg_status_name(status) // ': ' // text
    flush (error_unit)
    error stop 1
  end subroutine report
end module tokavg_errors
