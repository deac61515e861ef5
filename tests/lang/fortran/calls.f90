! SPDX-License-Identifier: Apache-2.0
!> One call of a case through the generics that fit its types: rank 1 where it has one row, else rank 2.
module calls
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
  use cases, only: call_t
  use tokavg
  implicit none
  private
  public :: count_call, record_call

contains

  subroutine count_call(ctx, call, stat)
    type(tokavg_context), intent(in) :: ctx
    type(call_t), intent(in) :: call
    integer(int32), intent(out) :: stat
    integer(int32) :: flags
    flags = merge(TOKAVG_LABELS_SAME_MICROBATCH, 0, call%same /= 0)
    ! What is not allocated is absent, as the mask here may be.
    if (allocated(call%labels32)) then
      if (allocated(call%weights32)) then
        call ctx%count(call%labels32, call%mask, call%weights32, call%shift, call%term, flags, stat=stat)
      else if (allocated(call%weights64)) then
        call ctx%count(call%labels32, call%mask, call%weights64, call%shift, call%term, flags, stat=stat)
      else if (call%rows == 1 .and. .not. allocated(call%mask)) then
        call ctx%count(call%labels32(:, 1), shift=call%shift, term=call%term, flags=flags, stat=stat)
      else
        call ctx%count(call%labels32, call%mask, call%shift, call%term, flags, stat=stat)
      end if
    else if (allocated(call%weights32)) then
      call ctx%count(call%labels64, call%mask, call%weights32, call%shift, call%term, flags, stat=stat)
    else if (allocated(call%weights64)) then
      call ctx%count(call%labels64, call%mask, call%weights64, call%shift, call%term, flags, stat=stat)
    else if (call%rows == 1 .and. .not. allocated(call%mask)) then
      call ctx%count(call%labels64(:, 1), shift=call%shift, term=call%term, flags=flags, stat=stat)
    else
      call ctx%count(call%labels64, call%mask, call%shift, call%term, flags, stat=stat)
    end if
  end subroutine count_call

  !> The labels of a call; where it has no mask, all_ones stands for it.
  function labels_of(call, all_ones) result(set)
    type(call_t), intent(in), target :: call
    integer(int8), intent(in), target :: all_ones(:, :)
    type(tokavg_labels_t) :: set
    integer(int8), pointer :: mask(:, :)
    mask => all_ones
    if (allocated(call%mask)) mask => call%mask
    if (allocated(call%labels32)) then
      if (allocated(call%weights32)) then
        set = tokavg_labels(call%labels32, mask, call%weights32, call%shift, call%term)
      else if (allocated(call%weights64)) then
        set = tokavg_labels(call%labels32, mask, call%weights64, call%shift, call%term)
      else
        set = tokavg_labels(call%labels32, mask, call%shift, call%term)
      end if
    else if (allocated(call%weights32)) then
      set = tokavg_labels(call%labels64, mask, call%weights32, call%shift, call%term)
    else if (allocated(call%weights64)) then
      set = tokavg_labels(call%labels64, mask, call%weights64, call%shift, call%term)
    else
      set = tokavg_labels(call%labels64, mask, call%shift, call%term)
    end if
  end function labels_of

  subroutine record_call(ctx, ticket, call, backward, total, stat)
    type(tokavg_context), intent(in) :: ctx
    integer(int64), intent(in) :: ticket
    type(call_t), intent(in), target :: call
    real(real64), intent(out) :: backward, total
    integer(int32), intent(out) :: stat
    integer(int8), target :: all_ones(call%cols, call%rows)
    type(tokavg_labels_t) :: labels
    real(real32) :: narrow
    all_ones = 1
    labels = labels_of(call, all_ones)
    narrow = 0
    backward = 0
    total = 0
    if (allocated(call%losses32)) then
      if (call%rows == 1) then
        call ctx%loss(ticket, call%losses32(:, 1), labels, narrow, total, stat=stat)
      else
        call ctx%loss(ticket, call%losses32, labels, narrow, total, stat=stat)
      end if
      backward = real(narrow, real64)
    else if (call%rows == 1) then
      call ctx%loss(ticket, call%losses64(:, 1), labels, backward, total, stat=stat)
    else
      call ctx%loss(ticket, call%losses64, labels, backward, total, stat=stat)
    end if
  end subroutine record_call
end module calls
