! SPDX-License-Identifier: Apache-2.0
!> What C says about a struct or a field (lang_layout) against what Fortran has.
module layout_check
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  implicit none
  private
  public :: expect, finish_layout

  integer :: compared = 0, different = 0

  interface expect
    module procedure expect_size, expect_offset
  end interface expect

  interface
    integer(c_int64_t) function lang_layout(what) bind(c)
      import :: c_char, c_int64_t
      character(kind=c_char), intent(in) :: what(*)
    end function lang_layout
  end interface

contains

  subroutine expect_size(what, bytes)
    character(*), intent(in) :: what
    integer(c_int64_t), intent(in) :: bytes
    compared = compared + 1
    if (lang_layout(what // c_null_char) == bytes) return
    different = different + 1
    write (error_unit, '(2a, i0, a, i0)') what, ': C says ', lang_layout(what // c_null_char), ', Fortran has ', bytes
  end subroutine expect_size

  subroutine expect_offset(what, start, field)
    character(*), intent(in) :: what
    type(c_ptr), intent(in) :: start, field
    call expect_size(what, int(transfer(field, 0_c_intptr_t) - transfer(start, 0_c_intptr_t), c_int64_t))
  end subroutine expect_offset

  subroutine finish_layout()
    print '(i0, a, i0, a)', compared, ' sizes and offsets, ', different, ' differ'
    if (different > 0 .or. compared == 0) error stop 1
  end subroutine finish_layout
end module layout_check
