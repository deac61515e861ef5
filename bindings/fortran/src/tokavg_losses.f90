! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from templates/tokavg_losses.f90.in; do not edit.
!> The fourth part of tokavg_context: losses that the caller has computed.
module tokavg_losses
  use, intrinsic :: iso_c_binding
  use tokavg_arrays, only: view
  use tokavg_c, only: c_loss
  use tokavg_errors, only: refuse, settle
  use tokavg_label_sets, only: label_set
  use tokavg_results, only: tokavg_reader
  use tokavg_steps, only: stream_of
  use tokavg_types
  implicit none
  private
  public :: tokavg_recorder

  type, extends(tokavg_reader) :: tokavg_recorder
  contains
    generic :: loss => loss_struct
    procedure, private :: loss_struct
    generic :: loss => token_losses_r32_1
    procedure, private :: token_losses_r32_1
    generic :: loss => token_losses_r32_2
    procedure, private :: token_losses_r32_2
    generic :: loss => token_losses_r64_1
    procedure, private :: token_losses_r64_1
    generic :: loss => token_losses_r64_2
    procedure, private :: token_losses_r64_2
    generic :: loss => token_losses_r32_1_i32
    procedure, private :: token_losses_r32_1_i32
    generic :: loss => token_losses_r32_1_i64
    procedure, private :: token_losses_r32_1_i64
    generic :: loss => token_losses_r32_2_i32
    procedure, private :: token_losses_r32_2_i32
    generic :: loss => token_losses_r32_2_i64
    procedure, private :: token_losses_r32_2_i64
    generic :: loss => token_losses_r64_1_i32
    procedure, private :: token_losses_r64_1_i32
    generic :: loss => token_losses_r64_1_i64
    procedure, private :: token_losses_r64_1_i64
    generic :: loss => token_losses_r64_2_i32
    procedure, private :: token_losses_r64_2_i32
    generic :: loss => token_losses_r64_2_i64
    procedure, private :: token_losses_r64_2_i64
    generic :: loss_mean => mean_r32
    generic :: loss_sum => sum_r32
    procedure, private :: mean_r32, sum_r32
    generic :: loss_mean => mean_r64
    generic :: loss_sum => sum_r64
    procedure, private :: mean_r64, sum_r64
  end type tokavg_recorder

contains

  subroutine loss_struct(self, ticket, loss, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    type(tokavg_loss_t), intent(in), target :: loss
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_loss(self%handle, ticket, c_loc(loss), stream_of(stream)), self%handle, 'loss', stat, errmsg)
  end subroutine loss_struct

  !> The options that are present. `into` is the address of backward, or NULL.
  subroutine set_options(loss, into, sum, term, loss_scale)
    type(tokavg_loss_t), intent(inout) :: loss
    type(c_ptr), intent(in) :: into
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    loss%backward_out = into
    if (present(sum)) loss%sum_out = c_loc(sum)
    if (present(term)) loss%term = term
    if (present(loss_scale)) loss%loss_scale = loss_scale
  end subroutine set_options

  !> One loss for each label; the labels say which ones are scored, and how they weigh. Without labels all of them are.
  !> backward and sum are written on success alone.
  subroutine token_losses_r32_1(self, ticket, losses, labels, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: losses(:)
    type(tokavg_labels_t), intent(in), optional, target :: labels
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_TOKEN_LOSSES
    loss%losses = view(losses)
    loss%cols = size(losses, 1, c_int64_t)
    loss%rows = 1
    if (present(labels)) then
      loss%labels = c_loc(labels)
      loss%term = labels%term
    end if
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine token_losses_r32_1

  !> One loss for each label; the labels say which ones are scored, and how they weigh. Without labels all of them are.
  !> backward and sum are written on success alone.
  subroutine token_losses_r32_2(self, ticket, losses, labels, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: losses(:, :)
    type(tokavg_labels_t), intent(in), optional, target :: labels
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_TOKEN_LOSSES
    loss%losses = view(losses)
    loss%cols = size(losses, 1, c_int64_t)
    loss%rows = size(losses, 2, c_int64_t)
    if (present(labels)) then
      loss%labels = c_loc(labels)
      loss%term = labels%term
    end if
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine token_losses_r32_2

  !> One loss for each label; the labels say which ones are scored, and how they weigh. Without labels all of them are.
  !> backward and sum are written on success alone.
  subroutine token_losses_r64_1(self, ticket, losses, labels, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: losses(:)
    type(tokavg_labels_t), intent(in), optional, target :: labels
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_TOKEN_LOSSES
    loss%losses = view(losses)
    loss%cols = size(losses, 1, c_int64_t)
    loss%rows = 1
    if (present(labels)) then
      loss%labels = c_loc(labels)
      loss%term = labels%term
    end if
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine token_losses_r64_1

  !> One loss for each label; the labels say which ones are scored, and how they weigh. Without labels all of them are.
  !> backward and sum are written on success alone.
  subroutine token_losses_r64_2(self, ticket, losses, labels, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: losses(:, :)
    type(tokavg_labels_t), intent(in), optional, target :: labels
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_TOKEN_LOSSES
    loss%losses = view(losses)
    loss%cols = size(losses, 1, c_int64_t)
    loss%rows = size(losses, 2, c_int64_t)
    if (present(labels)) then
      loss%labels = c_loc(labels)
      loss%term = labels%term
    end if
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine token_losses_r64_2

  subroutine misfit(self, ticket, what, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    character(*), intent(in) :: what
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call refuse(c_loss(self%handle, ticket, c_null_ptr, c_null_ptr), self%handle, 'loss', &
        what // ' has another shape than labels', stat, errmsg)
  end subroutine misfit

  subroutine token_losses_r32_1_i32(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: losses(:)
    integer(c_int32_t), intent(in), target :: labels(:)
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r32_1(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r32_1_i32

  subroutine token_losses_r32_1_i64(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: losses(:)
    integer(c_int64_t), intent(in), target :: labels(:)
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_float), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r32_1(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r32_1_i64

  subroutine token_losses_r32_2_i32(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: losses(:, :)
    integer(c_int32_t), intent(in), target :: labels(:, :)
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r32_2(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r32_2_i32

  subroutine token_losses_r32_2_i64(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: losses(:, :)
    integer(c_int64_t), intent(in), target :: labels(:, :)
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_float), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r32_2(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r32_2_i64

  subroutine token_losses_r64_1_i32(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: losses(:)
    integer(c_int32_t), intent(in), target :: labels(:)
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_double), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r64_1(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r64_1_i32

  subroutine token_losses_r64_1_i64(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: losses(:)
    integer(c_int64_t), intent(in), target :: labels(:)
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:)
    real(c_double), intent(in), optional, target :: weights(:)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r64_1(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r64_1_i64

  subroutine token_losses_r64_2_i32(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: losses(:, :)
    integer(c_int32_t), intent(in), target :: labels(:, :)
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_double), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r64_2(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r64_2_i32

  subroutine token_losses_r64_2_i64(self, ticket, losses, labels, backward, sum, term, loss_scale, mask, weights, &
      shift, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: losses(:, :)
    integer(c_int64_t), intent(in), target :: labels(:, :)
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    integer(c_int8_t), intent(in), optional, target :: mask(:, :)
    real(c_double), intent(in), optional, target :: weights(:, :)
    integer(c_int32_t), intent(in), optional :: shift
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_labels_t) :: set
    set = label_set(view(labels), shape(labels, c_int64_t), shift, term)
    if (present(mask)) then
      set%mask = view(mask)
      if (any(shape(mask) /= shape(labels))) then
        call misfit(self, ticket, 'mask', stat, errmsg)
        return
      end if
    end if
    if (present(weights)) then
      set%weights = view(weights)
      if (any(shape(weights) /= shape(labels))) then
        call misfit(self, ticket, 'weights', stat, errmsg)
        return
      end if
    end if
    call self%token_losses_r64_2(ticket, losses, set, backward, sum, term, loss_scale, stream, stat, errmsg)
  end subroutine token_losses_r64_2_i64

  !> One value over `tokens` tokens; -1: those counted here and not yet recorded.
  subroutine sum_r32(self, ticket, value, tokens, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: value
    integer(c_int64_t), intent(in) :: tokens
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_SUM
    loss%losses%data = c_loc(value)
    loss%losses%dtype = TOKAVG_DTYPE_F32
    loss%tokens = tokens
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine sum_r32

  !> One value over `tokens` tokens; -1: those counted here and not yet recorded.
  subroutine mean_r32(self, ticket, value, tokens, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_float), intent(in), target :: value
    integer(c_int64_t), intent(in) :: tokens
    real(c_float), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_MEAN
    loss%losses%data = c_loc(value)
    loss%losses%dtype = TOKAVG_DTYPE_F32
    loss%tokens = tokens
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine mean_r32

  !> One value over `tokens` tokens; -1: those counted here and not yet recorded.
  subroutine sum_r64(self, ticket, value, tokens, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: value
    integer(c_int64_t), intent(in) :: tokens
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_SUM
    loss%losses%data = c_loc(value)
    loss%losses%dtype = TOKAVG_DTYPE_F64
    loss%tokens = tokens
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine sum_r64

  !> One value over `tokens` tokens; -1: those counted here and not yet recorded.
  subroutine mean_r64(self, ticket, value, tokens, backward, sum, term, loss_scale, stream, stat, errmsg)
    class(tokavg_recorder), intent(in) :: self
    integer(c_int64_t), intent(in) :: ticket
    real(c_double), intent(in), target :: value
    integer(c_int64_t), intent(in) :: tokens
    real(c_double), intent(inout), optional, target :: backward
    real(c_double), intent(inout), optional, target :: sum
    integer(c_int32_t), intent(in), optional :: term
    real(c_double), intent(in), optional :: loss_scale
    type(c_ptr), intent(in), optional :: stream
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_loss_t) :: loss
    type(c_ptr) :: into
    loss%kind = TOKAVG_LOSS_MEAN
    loss%losses%data = c_loc(value)
    loss%losses%dtype = TOKAVG_DTYPE_F64
    loss%tokens = tokens
    into = c_null_ptr
    if (present(backward)) into = c_loc(backward)
    call set_options(loss, into, sum, term, loss_scale)
    call self%loss_struct(ticket, loss, stream, stat, errmsg)
  end subroutine mean_r64
end module tokavg_losses
