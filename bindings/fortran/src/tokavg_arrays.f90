! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from templates/tokavg_arrays.f90.in; do not edit.
!> Fortran arrays as the library sees them: an address and strides, never a copy. In column-major order the first index
!> runs along a row of the library: labels(seq, batch) has batch rows of seq columns.
module tokavg_arrays
  use, intrinsic :: iso_c_binding
  use tokavg_types
  implicit none
  private
  public :: logits_view, place, target_view, view

  interface view
    module procedure view_i8_1
    module procedure view_i8_2
    module procedure view_i32_1
    module procedure view_i32_2
    module procedure view_i64_1
    module procedure view_i64_2
    module procedure view_r32_1
    module procedure view_r32_2
    module procedure view_r64_1
    module procedure view_r64_2
  end interface

  !> For an address that is kept: a pointer with gaps, passed on to a dummy that is none, would be copied.
  interface target_view
    module procedure target_view_i8_1
    module procedure target_view_i8_2
    module procedure target_view_i32_1
    module procedure target_view_i32_2
    module procedure target_view_i64_1
    module procedure target_view_i64_2
    module procedure target_view_r32_1
    module procedure target_view_r32_2
    module procedure target_view_r64_1
    module procedure target_view_r64_2
  end interface

  interface logits_view
    module procedure logits_i16_2
    module procedure logits_i16_3
    module procedure logits_r32_2
    module procedure logits_r32_3
  end interface

contains

  !> The stride to `next` along index 1 or 2 of the labels, in elements. Where it is no whole number, and where the
  !> classes (index 0) are not contiguous, the array gets a dtype that is refused.
  subroutine stride_to(next, bytes, v, index)
    type(c_ptr), intent(in) :: next
    integer(c_int64_t), intent(in) :: bytes
    type(tokavg_array_t), intent(inout) :: v
    integer, intent(in) :: index
    integer(c_int64_t) :: distance
    distance = transfer(next, 0_c_intptr_t) - transfer(v%data, 0_c_intptr_t)
    if (mod(distance, bytes) /= 0) v%dtype = 0
    select case (index)
    case (0)
      if (distance /= bytes) v%dtype = -1
    case (1)
      v%col_stride = distance / bytes
    case (2)
      v%row_stride = distance / bytes
    end select
  end subroutine stride_to

  !> Fits an array of the shape `extents` to the labels: [cols, rows], or [cols * rows] with the rows end to end.
  subroutine place(array, extents, labels, what, fault)
    type(tokavg_array_t), intent(inout) :: array
    integer(c_int64_t), intent(in) :: extents(:)
    type(tokavg_labels_t), intent(in) :: labels
    character(*), intent(in) :: what
    character(*), intent(inout) :: fault
    logical :: fits
    if (size(extents) == 2) then
      fits = extents(1) == labels%cols .and. extents(2) == labels%rows
    else
      fits = extents(1) == labels%cols * labels%rows
      array%row_stride = labels%cols * array%col_stride
    end if
    if (.not. fits) write (fault, '(2a, i0, a, i0, a, *(1x, i0))') what, ' does not fit the labels, which are ', &
        labels%cols, ' x ', labels%rows, '; its shape is', extents
  end subroutine place

  function view_i8_1(a) result(v)
    integer(c_int8_t), intent(in), target :: a(:)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_U8
    if (size(a) == 0) return
    v%data = c_loc(a(1))
    if (size(a) > 1) call stride_to(c_loc(a(2)), 1_c_int64_t, v, 1)
  end function view_i8_1

  function view_i8_2(a) result(v)
    integer(c_int8_t), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_U8
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 1) > 1) call stride_to(c_loc(a(2, 1)), 1_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 1_c_int64_t, v, 2)
  end function view_i8_2

  function view_i32_1(a) result(v)
    integer(c_int32_t), intent(in), target :: a(:)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_I32
    if (size(a) == 0) return
    v%data = c_loc(a(1))
    if (size(a) > 1) call stride_to(c_loc(a(2)), 4_c_int64_t, v, 1)
  end function view_i32_1

  function view_i32_2(a) result(v)
    integer(c_int32_t), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_I32
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 1) > 1) call stride_to(c_loc(a(2, 1)), 4_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 4_c_int64_t, v, 2)
  end function view_i32_2

  function view_i64_1(a) result(v)
    integer(c_int64_t), intent(in), target :: a(:)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_I64
    if (size(a) == 0) return
    v%data = c_loc(a(1))
    if (size(a) > 1) call stride_to(c_loc(a(2)), 8_c_int64_t, v, 1)
  end function view_i64_1

  function view_i64_2(a) result(v)
    integer(c_int64_t), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_I64
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 1) > 1) call stride_to(c_loc(a(2, 1)), 8_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 8_c_int64_t, v, 2)
  end function view_i64_2

  function view_r32_1(a) result(v)
    real(c_float), intent(in), target :: a(:)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_F32
    if (size(a) == 0) return
    v%data = c_loc(a(1))
    if (size(a) > 1) call stride_to(c_loc(a(2)), 4_c_int64_t, v, 1)
  end function view_r32_1

  function view_r32_2(a) result(v)
    real(c_float), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_F32
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 1) > 1) call stride_to(c_loc(a(2, 1)), 4_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 4_c_int64_t, v, 2)
  end function view_r32_2

  function view_r64_1(a) result(v)
    real(c_double), intent(in), target :: a(:)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_F64
    if (size(a) == 0) return
    v%data = c_loc(a(1))
    if (size(a) > 1) call stride_to(c_loc(a(2)), 8_c_int64_t, v, 1)
  end function view_r64_1

  function view_r64_2(a) result(v)
    real(c_double), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_F64
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 1) > 1) call stride_to(c_loc(a(2, 1)), 8_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 8_c_int64_t, v, 2)
  end function view_r64_2

  function target_view_i8_1(a) result(v)
    integer(c_int8_t), pointer, intent(in) :: a(:)
    type(tokavg_array_t) :: v
    integer :: i
    v%dtype = TOKAVG_DTYPE_U8
    if (size(a) == 0) return
    i = lbound(a, 1)
    v%data = c_loc(a(i))
    if (size(a) > 1) call stride_to(c_loc(a(i + 1)), 1_c_int64_t, v, 1)
  end function target_view_i8_1

  function target_view_i8_2(a) result(v)
    integer(c_int8_t), pointer, intent(in) :: a(:, :)
    type(tokavg_array_t) :: v
    integer :: i, j
    v%dtype = TOKAVG_DTYPE_U8
    if (size(a) == 0) return
    i = lbound(a, 1)
    j = lbound(a, 2)
    v%data = c_loc(a(i, j))
    if (size(a, 1) > 1) call stride_to(c_loc(a(i + 1, j)), 1_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(i, j + 1)), 1_c_int64_t, v, 2)
  end function target_view_i8_2

  function target_view_i32_1(a) result(v)
    integer(c_int32_t), pointer, intent(in) :: a(:)
    type(tokavg_array_t) :: v
    integer :: i
    v%dtype = TOKAVG_DTYPE_I32
    if (size(a) == 0) return
    i = lbound(a, 1)
    v%data = c_loc(a(i))
    if (size(a) > 1) call stride_to(c_loc(a(i + 1)), 4_c_int64_t, v, 1)
  end function target_view_i32_1

  function target_view_i32_2(a) result(v)
    integer(c_int32_t), pointer, intent(in) :: a(:, :)
    type(tokavg_array_t) :: v
    integer :: i, j
    v%dtype = TOKAVG_DTYPE_I32
    if (size(a) == 0) return
    i = lbound(a, 1)
    j = lbound(a, 2)
    v%data = c_loc(a(i, j))
    if (size(a, 1) > 1) call stride_to(c_loc(a(i + 1, j)), 4_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(i, j + 1)), 4_c_int64_t, v, 2)
  end function target_view_i32_2

  function target_view_i64_1(a) result(v)
    integer(c_int64_t), pointer, intent(in) :: a(:)
    type(tokavg_array_t) :: v
    integer :: i
    v%dtype = TOKAVG_DTYPE_I64
    if (size(a) == 0) return
    i = lbound(a, 1)
    v%data = c_loc(a(i))
    if (size(a) > 1) call stride_to(c_loc(a(i + 1)), 8_c_int64_t, v, 1)
  end function target_view_i64_1

  function target_view_i64_2(a) result(v)
    integer(c_int64_t), pointer, intent(in) :: a(:, :)
    type(tokavg_array_t) :: v
    integer :: i, j
    v%dtype = TOKAVG_DTYPE_I64
    if (size(a) == 0) return
    i = lbound(a, 1)
    j = lbound(a, 2)
    v%data = c_loc(a(i, j))
    if (size(a, 1) > 1) call stride_to(c_loc(a(i + 1, j)), 8_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(i, j + 1)), 8_c_int64_t, v, 2)
  end function target_view_i64_2

  function target_view_r32_1(a) result(v)
    real(c_float), pointer, intent(in) :: a(:)
    type(tokavg_array_t) :: v
    integer :: i
    v%dtype = TOKAVG_DTYPE_F32
    if (size(a) == 0) return
    i = lbound(a, 1)
    v%data = c_loc(a(i))
    if (size(a) > 1) call stride_to(c_loc(a(i + 1)), 4_c_int64_t, v, 1)
  end function target_view_r32_1

  function target_view_r32_2(a) result(v)
    real(c_float), pointer, intent(in) :: a(:, :)
    type(tokavg_array_t) :: v
    integer :: i, j
    v%dtype = TOKAVG_DTYPE_F32
    if (size(a) == 0) return
    i = lbound(a, 1)
    j = lbound(a, 2)
    v%data = c_loc(a(i, j))
    if (size(a, 1) > 1) call stride_to(c_loc(a(i + 1, j)), 4_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(i, j + 1)), 4_c_int64_t, v, 2)
  end function target_view_r32_2

  function target_view_r64_1(a) result(v)
    real(c_double), pointer, intent(in) :: a(:)
    type(tokavg_array_t) :: v
    integer :: i
    v%dtype = TOKAVG_DTYPE_F64
    if (size(a) == 0) return
    i = lbound(a, 1)
    v%data = c_loc(a(i))
    if (size(a) > 1) call stride_to(c_loc(a(i + 1)), 8_c_int64_t, v, 1)
  end function target_view_r64_1

  function target_view_r64_2(a) result(v)
    real(c_double), pointer, intent(in) :: a(:, :)
    type(tokavg_array_t) :: v
    integer :: i, j
    v%dtype = TOKAVG_DTYPE_F64
    if (size(a) == 0) return
    i = lbound(a, 1)
    j = lbound(a, 2)
    v%data = c_loc(a(i, j))
    if (size(a, 1) > 1) call stride_to(c_loc(a(i + 1, j)), 8_c_int64_t, v, 1)
    if (size(a, 2) > 1) call stride_to(c_loc(a(i, j + 1)), 8_c_int64_t, v, 2)
  end function target_view_r64_2

  !> The first index is the class, and must be contiguous: dtype -1 where it is not.
  function logits_i16_2(a) result(v)
    integer(c_int16_t), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = 0
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 2_c_int64_t, v, 1)
    if (size(a, 1) == 1) return
    call stride_to(c_loc(a(2, 1)), 2_c_int64_t, v, 0)
  end function logits_i16_2

  !> The first index is the class, and must be contiguous: dtype -1 where it is not.
  function logits_i16_3(a) result(v)
    integer(c_int16_t), intent(in), target :: a(:, :, :)
    type(tokavg_array_t) :: v
    v%dtype = 0
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1, 1))
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2, 1)), 2_c_int64_t, v, 1)
    if (size(a, 3) > 1) call stride_to(c_loc(a(1, 1, 2)), 2_c_int64_t, v, 2)
    if (size(a, 1) == 1) return
    call stride_to(c_loc(a(2, 1, 1)), 2_c_int64_t, v, 0)
  end function logits_i16_3

  !> The first index is the class, and must be contiguous: dtype -1 where it is not.
  function logits_r32_2(a) result(v)
    real(c_float), intent(in), target :: a(:, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_F32
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1))
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2)), 4_c_int64_t, v, 1)
    if (size(a, 1) == 1) return
    call stride_to(c_loc(a(2, 1)), 4_c_int64_t, v, 0)
  end function logits_r32_2

  !> The first index is the class, and must be contiguous: dtype -1 where it is not.
  function logits_r32_3(a) result(v)
    real(c_float), intent(in), target :: a(:, :, :)
    type(tokavg_array_t) :: v
    v%dtype = TOKAVG_DTYPE_F32
    if (size(a) == 0) return
    v%data = c_loc(a(1, 1, 1))
    if (size(a, 2) > 1) call stride_to(c_loc(a(1, 2, 1)), 4_c_int64_t, v, 1)
    if (size(a, 3) > 1) call stride_to(c_loc(a(1, 1, 2)), 4_c_int64_t, v, 2)
    if (size(a, 1) == 1) return
    call stride_to(c_loc(a(2, 1, 1)), 4_c_int64_t, v, 0)
  end function logits_r32_3
end module tokavg_arrays
