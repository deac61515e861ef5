! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from templates/tokavg_cross_entropies.f90.in; do not edit.
!> The fifth part of tokavg_context: fused cross entropy. logits(vocab, seq, batch) go with labels(seq, batch), and
!> logits(vocab, n) with labels(n) or with n labels in rows end to end.
module tokavg_cross_entropies
  use, intrinsic :: iso_c_binding
  use tokavg_arrays, only: logits_view, place, view
  use tokavg_c, only: c_cross_entropy
  use tokavg_errors, only: refuse, settle
  use tokavg_label_sets, only: label_set
  use tokavg_losses, only: tokavg_recorder
  use tokavg_steps, only: stream_of
  use tokavg_types
  implicit none
  private
  public :: tokavg_fuser

  type, extends(tokavg_recorder) :: tokavg_fuser
  contains
    generic :: cross_entropy => struct
    procedure, private :: struct
    generic :: cross_entropy => separate_r32_2
    generic :: cross_entropy_in_place => in_place_r32_2
    procedure, private :: separate_r32_2, in_place_r32_2
    generic :: cross_entropy => separate_r32_3
    generic :: cross_entropy_in_place => in_place_r32_3
    procedure, private :: separate_r32_3, in_place_r32_3
    generic :: cross_entropy => separate_i16_2
    generic :: cross_entropy_in_place => in_place_i16_2
    procedure, private :: separate_i16_2, in_place_i16_2
    generic :: cross_entropy => separate_i16_3
    generic :: cross_entropy_in_place => in_place_i16_3
    procedure, private :: separate_i16_3, in_place_i16_3
    generic :: cross_entropy => separate_r32_2_i32
    generic :: cross_entropy_in_place => in_place_r32_2_i32
    procedure, private :: separate_r32_2_i32, in_place_r32_2_i32
    generic :: cross_entropy => separate_r32_2_i64
    generic :: cross_entropy_in_place => in_place_r32_2_i64
    procedure, private :: separate_r32_2_i64, in_place_r32_2_i64
    generic :: cross_entropy => separate_r32_3_i32
    generic :: cross_entropy_in_place => in_place_r32_3_i32
    procedure, private :: separate_r32_3_i32, in_place_r32_3_i32
    generic :: cross_entropy => separate_r32_3_i64
    generic :: cross_entropy_in_place => in_place_r32_3_i64
    procedure, private :: separate_r32_3_i64, in_place_r32_3_i64
    generic :: cross_entropy => separate_i16_2_i32
    generic :: cross_entropy_in_place => in_place_i16_2_i32
    procedure, private :: separate_i16_2_i32, in_place_i16_2_i32
    generic :: cross_entropy => separate_i16_2_i64
    generic :: cross_entropy_in_place => in_place_i16_2_i64
    procedure, private :: separate_i16_2_i64, in_place_i16_2_i64
    generic :: cross_entropy => separate_i16_3_i32
    generic :: cross_entropy_in_place => in_place_i16_3_i32
    procedure, private :: separate_i16_3_i32, in_place_i16_3_i32
    generic :: cross_entropy => separate_i16_3_i64
    generic :: cross_entropy_in_place => in_place_i16_3_i64
    procedure, private :: separate_i16_3_i64, in_place_i16_3_i64
  end type tokavg_fuser

  integer, parameter :: fault_length = 160

contains

  subroutine struct(self, ticket, ce, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    type(tokavg_cross_entropy_t), intent(in), target :: ce
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_cross_entropy(self%handle, ticket, c_loc(ce), stream_of(stream)), self%handle, 'cross_entropy', &
        stat, errmsg)
  end subroutine struct

  !> The logits, whose shape must be the vocabulary and then that of the labels.
  subroutine set_logits(ce, logits, extents, labels, fault)
    type(tokavg_cross_entropy_t), intent(inout) :: ce
    type(tokavg_array_t), intent(in) :: logits
    integer(c_int64_t), intent(in) :: extents(:)
    type(tokavg_labels_t), intent(in), target :: labels
    character(*), intent(inout) :: fault
    ce%logits = logits
    ce%vocab = extents(1)
    ce%labels = c_loc(labels)
    if (logits%dtype < 0) fault = 'logits: the classes (the first index) must be contiguous'
    call place(ce%logits, extents(2:), labels, 'logits', fault)
  end subroutine set_logits

  !> The gradient, of the logits' shape.
  subroutine set_gradient(ce, gradient, extents, expected, fault)
    type(tokavg_cross_entropy_t), intent(inout) :: ce
    type(tokavg_array_t), intent(in) :: gradient
    integer(c_int64_t), intent(in) :: extents(:), expected(:)
    character(*), intent(inout) :: fault
    integer(c_int64_t) :: rows_apart
    rows_apart = gradient%row_stride
    ! Logits of rank 2 hold the rows end to end.
    if (size(extents) == 2 .and. ce%logits%col_stride /= 0) then
      rows_apart = ce%logits%row_stride / ce%logits%col_stride * gradient%col_stride
    end if
    ce%gradient_out = gradient
    ce%gradient_out%dtype = ce%logits%dtype
    ce%gradient_out%row_stride = rows_apart
    if (gradient%dtype < 0) fault = 'gradient: the classes (the first index) must be contiguous'
    if (any(extents /= expected)) fault = 'gradient has another shape than logits'
  end subroutine set_gradient

  subroutine set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    type(tokavg_cross_entropy_t), intent(inout) :: ce
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    if (present(label_smoothing)) ce%label_smoothing = label_smoothing
    if (present(z_loss)) ce%z_loss = z_loss
    if (present(logit_softcap)) ce%logit_softcap = logit_softcap
    if (present(loss_scale)) ce%loss_scale = loss_scale
    if (present(backward)) ce%backward_out = c_loc(backward)
    if (present(sum)) ce%sum_out = c_loc(sum)
  end subroutine set_numbers

  subroutine run(self, ticket, ce, fault, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    type(tokavg_cross_entropy_t), intent(in) :: ce
    character(*), intent(in) :: fault
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (fault == '') then
      call self%struct(ticket, ce, stream, stat, errmsg)
    else
      call refuse(c_cross_entropy(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'cross_entropy', &
          trim(fault), stat, errmsg)
    end if
  end subroutine run

  !> Outputs are written on success alone. argmax counts classes from the labels' label_base.
  subroutine separate_r32_2(self, ticket, logits, labels, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: logits(:, :)
    type(tokavg_labels_t), intent(in), target :: labels
    real(c_float), intent(inout), optional, target :: gradient(:, :)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    if (present(gradient)) then
      call set_gradient(ce, logits_view(gradient), shape(gradient, c_int64_t), shape(logits, c_int64_t), &
          fault)
    end if
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine separate_r32_2

  !> The gradient takes the place of the logits.
  subroutine in_place_r32_2(self, ticket, logits, labels, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: logits(:, :)
    type(tokavg_labels_t), intent(in), target :: labels
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    ce%gradient_out = ce%logits
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine in_place_r32_2

  !> Outputs are written on success alone. argmax counts classes from the labels' label_base.
  subroutine separate_r32_3(self, ticket, logits, labels, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: logits(:, :, :)
    type(tokavg_labels_t), intent(in), target :: labels
    real(c_float), intent(inout), optional, target :: gradient(:, :, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    if (present(gradient)) then
      call set_gradient(ce, logits_view(gradient), shape(gradient, c_int64_t), shape(logits, c_int64_t), &
          fault)
    end if
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine separate_r32_3

  !> The gradient takes the place of the logits.
  subroutine in_place_r32_3(self, ticket, logits, labels, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: logits(:, :, :)
    type(tokavg_labels_t), intent(in), target :: labels
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    ce%gradient_out = ce%logits
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine in_place_r32_3

  !> The same for TOKAVG_DTYPE_BF16 and TOKAVG_DTYPE_F16.
  subroutine separate_i16_2(self, ticket, logits, labels, dtype, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(in), target :: logits(:, :)
    type(tokavg_labels_t), intent(in), target :: labels
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int16_t), intent(inout), optional, target :: gradient(:, :)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    ce%logits%dtype = dtype
    if (present(gradient)) then
      call set_gradient(ce, logits_view(gradient), shape(gradient, c_int64_t), shape(logits, c_int64_t), &
          fault)
    end if
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine separate_i16_2

  !> The gradient takes the place of the logits.
  subroutine in_place_i16_2(self, ticket, logits, labels, dtype, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: logits(:, :)
    type(tokavg_labels_t), intent(in), target :: labels
    integer(c_int32_t), intent(in) :: dtype
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    ce%logits%dtype = dtype
    ce%gradient_out = ce%logits
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine in_place_i16_2

  !> The same for TOKAVG_DTYPE_BF16 and TOKAVG_DTYPE_F16.
  subroutine separate_i16_3(self, ticket, logits, labels, dtype, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(in), target :: logits(:, :, :)
    type(tokavg_labels_t), intent(in), target :: labels
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int16_t), intent(inout), optional, target :: gradient(:, :, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    ce%logits%dtype = dtype
    if (present(gradient)) then
      call set_gradient(ce, logits_view(gradient), shape(gradient, c_int64_t), shape(logits, c_int64_t), &
          fault)
    end if
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine separate_i16_3

  !> The gradient takes the place of the logits.
  subroutine in_place_i16_3(self, ticket, logits, labels, dtype, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: logits(:, :, :)
    type(tokavg_labels_t), intent(in), target :: labels
    integer(c_int32_t), intent(in) :: dtype
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_cross_entropy_t) :: ce
    character(fault_length) :: fault
    fault = ''
    call set_logits(ce, logits_view(logits), shape(logits, c_int64_t), labels, fault)
    ce%logits%dtype = dtype
    ce%gradient_out = ce%logits
    if (present(losses)) then
      ce%losses_out = view(losses)
      call place(ce%losses_out, shape(losses, c_int64_t), labels, 'losses', fault)
    end if
    if (present(lse)) then
      ce%lse_out = view(lse)
      call place(ce%lse_out, shape(lse, c_int64_t), labels, 'lse', fault)
    end if
    if (present(argmax)) then
      ce%argmax_out = view(argmax)
      call place(ce%argmax_out, shape(argmax, c_int64_t), labels, 'argmax', fault)
    end if
    call set_numbers(ce, label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum)
    call run(self, ticket, ce, fault, stream, stat, errmsg)
  end subroutine in_place_i16_3

  subroutine separate_r32_2_i32(self, ticket, logits, labels, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: logits(:, :)
    integer(c_int32_t), intent(in), target :: labels(:)
    real(c_float), intent(inout), optional, target :: gradient(:, :)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_r32_2(ticket, logits, set, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_r32_2_i32

  subroutine in_place_r32_2_i32(self, ticket, logits, labels, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: logits(:, :)
    integer(c_int32_t), intent(in), target :: labels(:)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_r32_2(ticket, logits, set, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_r32_2_i32

  subroutine separate_r32_2_i64(self, ticket, logits, labels, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: logits(:, :)
    integer(c_int64_t), intent(in), target :: labels(:)
    real(c_float), intent(inout), optional, target :: gradient(:, :)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_r32_2(ticket, logits, set, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_r32_2_i64

  subroutine in_place_r32_2_i64(self, ticket, logits, labels, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: logits(:, :)
    integer(c_int64_t), intent(in), target :: labels(:)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_r32_2(ticket, logits, set, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_r32_2_i64

  subroutine separate_r32_3_i32(self, ticket, logits, labels, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: logits(:, :, :)
    integer(c_int32_t), intent(in), target :: labels(:, :)
    real(c_float), intent(inout), optional, target :: gradient(:, :, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_r32_3(ticket, logits, set, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_r32_3_i32

  subroutine in_place_r32_3_i32(self, ticket, logits, labels, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: logits(:, :, :)
    integer(c_int32_t), intent(in), target :: labels(:, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_r32_3(ticket, logits, set, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_r32_3_i32

  subroutine separate_r32_3_i64(self, ticket, logits, labels, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: logits(:, :, :)
    integer(c_int64_t), intent(in), target :: labels(:, :)
    real(c_float), intent(inout), optional, target :: gradient(:, :, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_r32_3(ticket, logits, set, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_r32_3_i64

  subroutine in_place_r32_3_i64(self, ticket, logits, labels, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(inout), target :: logits(:, :, :)
    integer(c_int64_t), intent(in), target :: labels(:, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_r32_3(ticket, logits, set, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_r32_3_i64

  subroutine separate_i16_2_i32(self, ticket, logits, labels, dtype, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(in), target :: logits(:, :)
    integer(c_int32_t), intent(in), target :: labels(:)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int16_t), intent(inout), optional, target :: gradient(:, :)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_i16_2(ticket, logits, set, dtype, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_i16_2_i32

  subroutine in_place_i16_2_i32(self, ticket, logits, labels, dtype, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: logits(:, :)
    integer(c_int32_t), intent(in), target :: labels(:)
    integer(c_int32_t), intent(in) :: dtype
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_i16_2(ticket, logits, set, dtype, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_i16_2_i32

  subroutine separate_i16_2_i64(self, ticket, logits, labels, dtype, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(in), target :: logits(:, :)
    integer(c_int64_t), intent(in), target :: labels(:)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int16_t), intent(inout), optional, target :: gradient(:, :)
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_i16_2(ticket, logits, set, dtype, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_i16_2_i64

  subroutine in_place_i16_2_i64(self, ticket, logits, labels, dtype, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: logits(:, :)
    integer(c_int64_t), intent(in), target :: labels(:)
    integer(c_int32_t), intent(in) :: dtype
    real(c_float), intent(inout), optional, target :: losses(:), lse(:)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_i16_2(ticket, logits, set, dtype, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_i16_2_i64

  subroutine separate_i16_3_i32(self, ticket, logits, labels, dtype, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(in), target :: logits(:, :, :)
    integer(c_int32_t), intent(in), target :: labels(:, :)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int16_t), intent(inout), optional, target :: gradient(:, :, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_i16_3(ticket, logits, set, dtype, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_i16_3_i32

  subroutine in_place_i16_3_i32(self, ticket, logits, labels, dtype, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: logits(:, :, :)
    integer(c_int32_t), intent(in), target :: labels(:, :)
    integer(c_int32_t), intent(in) :: dtype
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_i16_3(ticket, logits, set, dtype, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_i16_3_i32

  subroutine separate_i16_3_i64(self, ticket, logits, labels, dtype, gradient, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(in), target :: logits(:, :, :)
    integer(c_int64_t), intent(in), target :: labels(:, :)
    integer(c_int32_t), intent(in) :: dtype
    integer(c_int16_t), intent(inout), optional, target :: gradient(:, :, :)
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%separate_i16_3(ticket, logits, set, dtype, gradient, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine separate_i16_3_i64

  subroutine in_place_i16_3_i64(self, ticket, logits, labels, dtype, losses, lse, argmax, &
      label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, mask, weights, shift, term, label_base, &
      stream, stat, errmsg)
    class(tokavg_fuser), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    integer(c_int16_t), intent(inout), target :: logits(:, :, :)
    integer(c_int64_t), intent(in), target :: labels(:, :)
    integer(c_int32_t), intent(in) :: dtype
    real(c_float), intent(inout), optional, target :: losses(:, :), lse(:, :)
    integer(c_int32_t), intent(inout), optional, target :: argmax(:, :)
    real(c_double), intent(in), optional :: label_smoothing, z_loss, logit_softcap, loss_scale
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift, term, label_base
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term, label_base=label_base)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'mask has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call run(self, ticket, tokavg_cross_entropy_t(), 'weights has another shape than labels', stream, stat, errmsg)
        return
      end if
    end if
    call self%in_place_i16_3(ticket, logits, set, dtype, losses, lse, argmax, &
        label_smoothing, z_loss, logit_softcap, loss_scale, backward, sum, stream, stat, errmsg)
  end subroutine in_place_i16_3_i64
end module tokavg_cross_entropies
