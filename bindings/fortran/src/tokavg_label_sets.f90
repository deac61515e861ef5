! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from templates/tokavg_label_sets.f90.in; do not edit.
!> tokavg_labels(): labels with their mask and weights in one variable, to count and to record losses with. It keeps the
!> addresses: the arrays must have the TARGET attribute (the compiler insists) and stay as they are while it is used.
!> GNU Fortran 12 hands over a copy of labels([1, 3]), and a wrong address of components (tokens%label): hand these to
!> count, loss and cross_entropy as arrays, or point a pointer at the components first.
module tokavg_label_sets
  use, intrinsic :: iso_c_binding
  use tokavg_arrays, only: target_view
  use tokavg_errors, only: refuse
  use tokavg_types
  implicit none
  private
  public :: label_set, tokavg_labels

  interface tokavg_labels
    module procedure labels_i32_1
    module procedure labels_i32_2
    module procedure labels_i64_1
    module procedure labels_i64_2
    module procedure labels_i32_1_r32
    module procedure labels_i32_1_r64
    module procedure labels_i32_2_r32
    module procedure labels_i32_2_r64
    module procedure labels_i64_1_r32
    module procedure labels_i64_1_r64
    module procedure labels_i64_2_r32
    module procedure labels_i64_2_r64
  end interface

contains

  !> The labels and the options that are present.
  function label_set(labels, extents, shift, term, flags, label_base) result(set)
    type(tokavg_array_t), intent(in) :: labels
    integer(c_int64_t), intent(in) :: extents(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    type(tokavg_labels_t) :: set
    set%labels = labels
    set%cols = extents(1)
    set%rows = 1
    if (size(extents) == 2) set%rows = extents(2)
    if (present(shift)) set%shift = shift
    if (present(term)) set%term = term
    if (present(flags)) set%flags = flags
    if (present(label_base)) set%label_base = label_base
  end function label_set

  !> There is no context yet that could be told: the library refuses the set when it is used.
  subroutine misfit(set, what, stat, errmsg)
    type(tokavg_labels_t), intent(inout) :: set
    character(*), intent(in) :: what
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    set%rows = -1
    call refuse(TOKAVG_ERR_ARGUMENT, c_null_ptr, 'tokavg_labels', what // ' has another shape than labels', &
        stat, errmsg)
  end subroutine misfit

  function labels_i32_1(labels, mask, shift, term, flags, label_base, stat, errmsg) result(set)
    integer(c_int32_t), pointer, intent(in) :: labels(:)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    if (present(stat)) stat = TOKAVG_OK
    set = label_set(target_view(labels), shape(labels, c_int64_t), shift, term, flags, label_base)
    if (.not. present(mask)) return
    set%mask = target_view(mask)
    if (any(shape(mask) /= shape(labels))) call misfit(set, 'mask', stat, errmsg)
  end function labels_i32_1

  function labels_i32_2(labels, mask, shift, term, flags, label_base, stat, errmsg) result(set)
    integer(c_int32_t), pointer, intent(in) :: labels(:, :)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    if (present(stat)) stat = TOKAVG_OK
    set = label_set(target_view(labels), shape(labels, c_int64_t), shift, term, flags, label_base)
    if (.not. present(mask)) return
    set%mask = target_view(mask)
    if (any(shape(mask) /= shape(labels))) call misfit(set, 'mask', stat, errmsg)
  end function labels_i32_2

  function labels_i64_1(labels, mask, shift, term, flags, label_base, stat, errmsg) result(set)
    integer(c_int64_t), pointer, intent(in) :: labels(:)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    if (present(stat)) stat = TOKAVG_OK
    set = label_set(target_view(labels), shape(labels, c_int64_t), shift, term, flags, label_base)
    if (.not. present(mask)) return
    set%mask = target_view(mask)
    if (any(shape(mask) /= shape(labels))) call misfit(set, 'mask', stat, errmsg)
  end function labels_i64_1

  function labels_i64_2(labels, mask, shift, term, flags, label_base, stat, errmsg) result(set)
    integer(c_int64_t), pointer, intent(in) :: labels(:, :)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    if (present(stat)) stat = TOKAVG_OK
    set = label_set(target_view(labels), shape(labels, c_int64_t), shift, term, flags, label_base)
    if (.not. present(mask)) return
    set%mask = target_view(mask)
    if (any(shape(mask) /= shape(labels))) call misfit(set, 'mask', stat, errmsg)
  end function labels_i64_2

  function labels_i32_1_r32(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int32_t), pointer, intent(in) :: labels(:)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:)
    real(c_float), pointer, intent(in) :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i32_1(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i32_1_r32

  function labels_i32_1_r64(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int32_t), pointer, intent(in) :: labels(:)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:)
    real(c_double), pointer, intent(in) :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i32_1(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i32_1_r64

  function labels_i32_2_r32(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int32_t), pointer, intent(in) :: labels(:, :)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:, :)
    real(c_float), pointer, intent(in) :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i32_2(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i32_2_r32

  function labels_i32_2_r64(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int32_t), pointer, intent(in) :: labels(:, :)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:, :)
    real(c_double), pointer, intent(in) :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i32_2(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i32_2_r64

  function labels_i64_1_r32(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int64_t), pointer, intent(in) :: labels(:)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:)
    real(c_float), pointer, intent(in) :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i64_1(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i64_1_r32

  function labels_i64_1_r64(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int64_t), pointer, intent(in) :: labels(:)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:)
    real(c_double), pointer, intent(in) :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i64_1(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i64_1_r64

  function labels_i64_2_r32(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int64_t), pointer, intent(in) :: labels(:, :)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:, :)
    real(c_float), pointer, intent(in) :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i64_2(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i64_2_r32

  function labels_i64_2_r64(labels, mask, weights, shift, term, flags, label_base, stat, errmsg) &
      result(set)
    integer(c_int64_t), pointer, intent(in) :: labels(:, :)
    integer(c_int8_t), pointer, intent(in), optional :: mask(:, :)
    real(c_double), pointer, intent(in) :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags, label_base
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = labels_i64_2(labels, mask, shift, term, flags, label_base, stat, errmsg)
    set%weights = target_view(weights)
    if (any(shape(weights) /= shape(labels))) call misfit(set, 'weights', stat, errmsg)
  end function labels_i64_2_r64
end module tokavg_label_sets
