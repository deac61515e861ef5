! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from templates/tokavg_scaling.f90.in; do not edit.
!> The sixth part of tokavg_context: gradients after their reduction. Arrays are contiguous; of rank 2 it is enough that
!> their columns are, as in g(1:m, :).
module tokavg_scaling
  use, intrinsic :: iso_c_binding
  use tokavg_c, only: c_scale
  use tokavg_cross_entropies, only: tokavg_fuser
  use tokavg_errors, only: refuse, settle
  use tokavg_steps, only: stream_of
  use tokavg_types
  implicit none
  private
  public :: tokavg_scaler, tokavg_scale_item

  type, extends(tokavg_fuser) :: tokavg_scaler
  contains
    generic :: scale => scale_struct, scale_items
    procedure, private :: scale_struct, scale_items
    generic :: scale => scale_r32_1
    procedure, private :: scale_r32_1
    generic :: scale => scale_r32_2
    procedure, private :: scale_r32_2
    generic :: scale => scale_r32_3
    procedure, private :: scale_r32_3
    generic :: scale => scale_r32_4
    procedure, private :: scale_r32_4
    generic :: scale => scale_r64_1
    procedure, private :: scale_r64_1
    generic :: scale => scale_r64_2
    procedure, private :: scale_r64_2
    generic :: scale => scale_r64_3
    procedure, private :: scale_r64_3
    generic :: scale => scale_r64_4
    procedure, private :: scale_r64_4
    generic :: scale => scale_i16_1
    procedure, private :: scale_i16_1
    generic :: scale => scale_i16_2
    procedure, private :: scale_i16_2
    generic :: scale => scale_i16_3
    procedure, private :: scale_i16_3
    generic :: scale => scale_i16_4
    procedure, private :: scale_i16_4
  end type tokavg_scaler

  !> An array for ctx%scale(ticket, [items]). It keeps the address, so the array must have the TARGET attribute. The
  !> library refuses the item of an array that is not contiguous (its count is -1).
  interface tokavg_scale_item
    module procedure item_r32_1
    module procedure item_r32_2
    module procedure item_r32_3
    module procedure item_r32_4
    module procedure item_r64_1
    module procedure item_r64_2
    module procedure item_r64_3
    module procedure item_r64_4
    module procedure item_i16_1
    module procedure item_i16_2
    module procedure item_i16_3
    module procedure item_i16_4
  end interface

contains

  pure function at(item, data) result(moved)
    type(tokavg_scale_item_t), intent(in) :: item
    type(c_ptr), intent(in) :: data
    type(tokavg_scale_item_t) :: moved
    moved = item
    moved%data = data
  end function at

  !> Refuses an item whose neighbour `next` is not so many bytes further. GNU Fortran's is_contiguous does not see the
  !> gaps in a pointer to components.
  subroutine follow(item, next, bytes)
    type(tokavg_scale_item_t), intent(inout) :: item
    type(c_ptr), intent(in) :: next
    integer(c_intptr_t), intent(in) :: bytes
    if (transfer(next, 0_c_intptr_t) - transfer(item%data, 0_c_intptr_t) /= bytes) item%count = -1
  end subroutine follow

  subroutine scale_struct(self, ticket, scale, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    type(tokavg_scale_t), intent(in), target :: scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_scale(self%handle, ticket, c_loc(scale), stream_of(stream)), self%handle, 'scale', stat, errmsg)
  end subroutine scale_struct

  !> kind: TOKAVG_FACTOR_SCALE unless given.
  subroutine scale_items(self, ticket, items, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    type(tokavg_scale_item_t), intent(in), contiguous, target :: items(:)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_t) :: scale
    scale%n_items = size(items, 1, c_int64_t)
    if (size(items) > 0) scale%items = c_loc(items(1))
    scale%kind = TOKAVG_FACTOR_SCALE
    if (present(kind)) scale%kind = kind
    if (present(term)) scale%term = term
    if (present(factor)) scale%factor = factor
    call self%scale_struct(ticket, scale, stream, stat, errmsg)
  end subroutine scale_items

  subroutine scale_r32_1(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: array(:)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r32_1

  subroutine scale_r32_2(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: array(:, :)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: i
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else if (is_contiguous(array(:, 1))) then
      item%count = size(array, 1, c_int64_t)
      call self%scale_items(ticket, [(at(item, c_loc(array(1, i))), i = 1, size(array, 2))], kind, term, &
          factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r32_2

  subroutine scale_r32_3(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: array(:, :, :)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r32_3

  subroutine scale_r32_4(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: array(:, :, :, :)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1, 1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r32_4

  subroutine scale_r64_1(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(inout), target :: array(:)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r64_1

  subroutine scale_r64_2(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(inout), target :: array(:, :)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: i
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else if (is_contiguous(array(:, 1))) then
      item%count = size(array, 1, c_int64_t)
      call self%scale_items(ticket, [(at(item, c_loc(array(1, i))), i = 1, size(array, 2))], kind, term, &
          factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r64_2

  subroutine scale_r64_3(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(inout), target :: array(:, :, :)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r64_3

  subroutine scale_r64_4(self, ticket, array, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(inout), target :: array(:, :, :, :)
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1, 1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_r64_4

  subroutine scale_i16_1(self, ticket, array, dtype, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: array(:)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_i16_1

  subroutine scale_i16_2(self, ticket, array, dtype, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: array(:, :)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer :: i
    type(tokavg_scale_item_t) :: item
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else if (is_contiguous(array(:, 1))) then
      item%count = size(array, 1, c_int64_t)
      call self%scale_items(ticket, [(at(item, c_loc(array(1, i))), i = 1, size(array, 2))], kind, term, &
          factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_i16_2

  subroutine scale_i16_3(self, ticket, array, dtype, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: array(:, :, :)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_i16_3

  subroutine scale_i16_4(self, ticket, array, dtype, kind, term, factor, stream, stat, errmsg)
    class(tokavg_scaler), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: array(:, :, :, :)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int32_t), intent(in), optional :: kind, term
    real(c_double), intent(in), optional :: factor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_scale_item_t) :: item
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count > 0) item%data = c_loc(array(1, 1, 1, 1))
    if (is_contiguous(array)) then
      call self%scale_items(ticket, [item], kind, term, factor, stream, stat, errmsg)
    else
      call refuse(c_scale(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'scale', &
          'the array is not contiguous', stat, errmsg)
    end if
  end subroutine scale_i16_4

  function item_r32_1(array) result(item)
    real(c_float), pointer, intent(in) :: array(:)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(1)
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1)))
    bytes = 4
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1)), bytes)
  end function item_r32_1

  function item_r32_2(array) result(item)
    real(c_float), pointer, intent(in) :: array(:, :)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(2)
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2)))
    bytes = 4
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1)), bytes)
  end function item_r32_2

  function item_r32_3(array) result(item)
    real(c_float), pointer, intent(in) :: array(:, :, :)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(3)
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2), l(3)))
    bytes = 4
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2), l(3))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1, l(3))), bytes)
    bytes = bytes * size(array, 2)
    if (size(array, 3) > 1) call follow(item, c_loc(array(l(1), l(2), l(3) + 1)), bytes)
  end function item_r32_3

  function item_r32_4(array) result(item)
    real(c_float), pointer, intent(in) :: array(:, :, :, :)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(4)
    item%dtype = TOKAVG_DTYPE_F32
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2), l(3), l(4)))
    bytes = 4
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2), l(3), l(4))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1, l(3), l(4))), bytes)
    bytes = bytes * size(array, 2)
    if (size(array, 3) > 1) call follow(item, c_loc(array(l(1), l(2), l(3) + 1, l(4))), bytes)
    bytes = bytes * size(array, 3)
    if (size(array, 4) > 1) call follow(item, c_loc(array(l(1), l(2), l(3), l(4) + 1)), bytes)
  end function item_r32_4

  function item_r64_1(array) result(item)
    real(c_double), pointer, intent(in) :: array(:)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(1)
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1)))
    bytes = 8
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1)), bytes)
  end function item_r64_1

  function item_r64_2(array) result(item)
    real(c_double), pointer, intent(in) :: array(:, :)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(2)
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2)))
    bytes = 8
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1)), bytes)
  end function item_r64_2

  function item_r64_3(array) result(item)
    real(c_double), pointer, intent(in) :: array(:, :, :)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(3)
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2), l(3)))
    bytes = 8
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2), l(3))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1, l(3))), bytes)
    bytes = bytes * size(array, 2)
    if (size(array, 3) > 1) call follow(item, c_loc(array(l(1), l(2), l(3) + 1)), bytes)
  end function item_r64_3

  function item_r64_4(array) result(item)
    real(c_double), pointer, intent(in) :: array(:, :, :, :)
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(4)
    item%dtype = TOKAVG_DTYPE_F64
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2), l(3), l(4)))
    bytes = 8
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2), l(3), l(4))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1, l(3), l(4))), bytes)
    bytes = bytes * size(array, 2)
    if (size(array, 3) > 1) call follow(item, c_loc(array(l(1), l(2), l(3) + 1, l(4))), bytes)
    bytes = bytes * size(array, 3)
    if (size(array, 4) > 1) call follow(item, c_loc(array(l(1), l(2), l(3), l(4) + 1)), bytes)
  end function item_r64_4

  function item_i16_1(array, dtype) result(item)
    integer(c_int16_t), pointer, intent(in) :: array(:)
    integer(c_int32_t), intent(in) :: dtype
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(1)
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1)))
    bytes = 2
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1)), bytes)
  end function item_i16_1

  function item_i16_2(array, dtype) result(item)
    integer(c_int16_t), pointer, intent(in) :: array(:, :)
    integer(c_int32_t), intent(in) :: dtype
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(2)
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2)))
    bytes = 2
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1)), bytes)
  end function item_i16_2

  function item_i16_3(array, dtype) result(item)
    integer(c_int16_t), pointer, intent(in) :: array(:, :, :)
    integer(c_int32_t), intent(in) :: dtype
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(3)
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2), l(3)))
    bytes = 2
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2), l(3))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1, l(3))), bytes)
    bytes = bytes * size(array, 2)
    if (size(array, 3) > 1) call follow(item, c_loc(array(l(1), l(2), l(3) + 1)), bytes)
  end function item_i16_3

  function item_i16_4(array, dtype) result(item)
    integer(c_int16_t), pointer, intent(in) :: array(:, :, :, :)
    integer(c_int32_t), intent(in) :: dtype
    type(tokavg_scale_item_t) :: item
    integer(c_intptr_t) :: bytes
    integer :: l(4)
    item%dtype = 0
    item%dtype = dtype
    item%count = size(array, kind=c_int64_t)
    if (item%count == 0) return
    l = lbound(array)
    item%data = c_loc(array(l(1), l(2), l(3), l(4)))
    bytes = 2
    if (size(array, 1) > 1) call follow(item, c_loc(array(l(1) + 1, l(2), l(3), l(4))), bytes)
    bytes = bytes * size(array, 1)
    if (size(array, 2) > 1) call follow(item, c_loc(array(l(1), l(2) + 1, l(3), l(4))), bytes)
    bytes = bytes * size(array, 2)
    if (size(array, 3) > 1) call follow(item, c_loc(array(l(1), l(2), l(3) + 1, l(4))), bytes)
    bytes = bytes * size(array, 3)
    if (size(array, 4) > 1) call follow(item, c_loc(array(l(1), l(2), l(3), l(4) + 1)), bytes)
  end function item_i16_4
end module tokavg_scaling
