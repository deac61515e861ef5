! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from templates/tokavg_steps.f90.in; do not edit.
!> The second part of tokavg_context: what fills and closes a step.
module tokavg_steps
  use, intrinsic :: iso_c_binding
  use tokavg_arrays, only: view
  use tokavg_c, only: c_count, c_count_add, c_discard, &
      c_flush, c_progress, c_reduce
  use tokavg_errors, only: refuse, settle
  use tokavg_handles, only: tokavg_handle
  use tokavg_label_sets, only: label_set
  use tokavg_types
  implicit none
  private
  public :: stream_of, tokavg_stepper

  type, extends(tokavg_handle) :: tokavg_stepper
  contains
    procedure :: count_add
    procedure :: discard
    procedure :: flush => flush_losses
    procedure :: progress
    procedure :: reduce
    generic :: count => count_set
    procedure, private :: count_set
    generic :: count => count_i32_1
    procedure, private :: count_i32_1
    generic :: count => count_i32_2
    procedure, private :: count_i32_2
    generic :: count => count_i64_1
    procedure, private :: count_i64_1
    generic :: count => count_i64_2
    procedure, private :: count_i64_2
    generic :: count => count_i32_1_r32
    procedure, private :: count_i32_1_r32
    generic :: count => count_i32_1_r64
    procedure, private :: count_i32_1_r64
    generic :: count => count_i32_2_r32
    procedure, private :: count_i32_2_r32
    generic :: count => count_i32_2_r64
    procedure, private :: count_i32_2_r64
    generic :: count => count_i64_1_r32
    procedure, private :: count_i64_1_r32
    generic :: count => count_i64_1_r64
    procedure, private :: count_i64_1_r64
    generic :: count => count_i64_2_r32
    procedure, private :: count_i64_2_r32
    generic :: count => count_i64_2_r64
    procedure, private :: count_i64_2_r64
  end type tokavg_stepper

contains

  !> The CUDA stream, or NULL where none is given.
  pure function stream_of(stream) result(address)
    type(c_ptr), intent(in), optional :: stream
    type(c_ptr) :: address
    address = c_null_ptr
    if (present(stream)) address = stream
  end function stream_of

  subroutine count_set(self, labels, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    type(tokavg_labels_t), intent(in), target :: labels
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_count(self%handle, c_loc(labels), stream_of(stream)), self%handle, 'count', stat, errmsg)
  end subroutine count_set

  subroutine misfit(self, what, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    character(*), intent(in) :: what
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call refuse(c_count(self%handle, c_null_ptr, c_null_ptr), self%handle, 'count', &
        what // ' has another shape than labels', stat, errmsg)
  end subroutine misfit

  subroutine count_i32_1(self, labels, mask, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(in), target :: labels(:)
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i32_1

  subroutine count_i32_2(self, labels, mask, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(in), target :: labels(:, :)
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i32_2

  subroutine count_i64_1(self, labels, mask, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in), target :: labels(:)
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i64_1

  subroutine count_i64_2(self, labels, mask, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in), target :: labels(:, :)
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i64_2

  subroutine count_i32_1_r32(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(in), target :: labels(:)
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i32_1_r32

  subroutine count_i32_1_r64(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(in), target :: labels(:)
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_double), intent(in), target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i32_1_r64

  subroutine count_i32_2_r32(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(in), target :: labels(:, :)
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i32_2_r32

  subroutine count_i32_2_r64(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(in), target :: labels(:, :)
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_double), intent(in), target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i32_2_r64

  subroutine count_i64_1_r32(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in), target :: labels(:)
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i64_1_r32

  subroutine count_i64_1_r64(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in), target :: labels(:)
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_double), intent(in), target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i64_1_r64

  subroutine count_i64_2_r32(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in), target :: labels(:, :)
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i64_2_r32

  subroutine count_i64_2_r64(self, labels, mask, weights, shift, term, flags, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in), target :: labels(:, :)
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_double), intent(in), target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, flags
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, flags)
    if (any(shape(weights) /= shape(labels))) then
      call misfit(self, 'weights', stat, errmsg)
      return
    end if
    set%weights = view(weights)
    if (present(mask)) then
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, 'mask', stat, errmsg)
        return
      end if
      set%mask = view(mask)
    end if
    call self%count_set(set, stream, stat, errmsg)
  end subroutine count_i64_2_r64

  !> weight_sum: the number of tokens unless given; microbatches: 1 unless given, 0 for the one already begun.
  subroutine count_add(self, tokens, microbatches, weight_sum, term, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(in) :: tokens
    integer(c_int64_t), intent(in), optional :: microbatches
    real(c_double), intent(in), optional :: weight_sum
    integer(c_int32_t), intent(in), optional :: term
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: n_microbatches
    real(c_double) :: weights
    integer(c_int32_t) :: of_term
    n_microbatches = 1
    if (present(microbatches)) n_microbatches = microbatches
    weights = 0
    if (present(weight_sum)) weights = weight_sum
    of_term = 0
    if (present(term)) of_term = term
    call settle(c_count_add(self%handle, of_term, tokens, weights, n_microbatches), self%handle, &
        'count_add', stat, errmsg)
  end subroutine count_add

  subroutine discard(self, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_discard(self%handle), self%handle, 'discard', stat, errmsg)
  end subroutine discard

  !> flags: TOKAVG_REDUCE_DONE. A step_id is checked over the ranks when it is given.
  subroutine reduce(self, ticket, flags, step_id, accumulation_divisor, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int64_t), intent(out) :: ticket
    integer(c_int32_t), intent(in), optional :: flags
    integer(c_int64_t), intent(in), optional :: step_id
    real(c_double), intent(in), optional :: accumulation_divisor
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_reduce_t), target :: options
    ticket = 0
    if (present(flags)) options%flags = flags
    if (present(step_id)) then
      options%flags = ior(options%flags, TOKAVG_REDUCE_STEP_ID)
      options%step_id = step_id
    end if
    if (present(accumulation_divisor)) options%accumulation_divisor = accumulation_divisor
    call settle(c_reduce(self%handle, c_loc(options), stream_of(stream), ticket), self%handle, 'reduce', stat, errmsg)
  end subroutine reduce

  subroutine flush_losses(self, stream, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_flush(self%handle, stream_of(stream)), self%handle, 'flush', stat, errmsg)
  end subroutine flush_losses

  subroutine progress(self, stat, errmsg)
    class(tokavg_stepper), intent(in) :: self
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_progress(self%handle), self%handle, 'progress', stat, errmsg)
  end subroutine progress
end module tokavg_steps
