! SPDX-License-Identifier: Apache-2.0
!> driver self|mpi|plain CASES OUT: the contract cases through the module; ../README.md says what is done and written.
!> plain is mpi in an application that calls MPI_Init, and so has no threads in MPI, and hands over integers.
program driver
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use calls, only: count_call, record_call
  use cases
  use mpi_f08
  use tokavg_mpi
  implicit none

  !> What the calls of one step gave back, per term.
  type :: totals_t
    real(real64) :: backward(0:TOKAVG_MAX_TERMS - 1) = 0, sum(0:TOKAVG_MAX_TERMS - 1) = 0
  end type totals_t

  type(case_t) :: a_case
  character(4096) :: mode, cases_file, out_file
  integer :: out, left, rank, ranks, level

  call get_command_argument(1, mode)
  call get_command_argument(2, cases_file)
  call get_command_argument(3, out_file)
  rank = 0
  ranks = 0
  if (mode /= 'self') then
    if (mode == 'plain') then
      call MPI_Init()
    else
      call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
    end if
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  end if
  write (out_file, '(2a, i0)') trim(out_file), '.', rank
  open (newunit=out, file=trim(out_file), action='write', status='replace', recl=2000)
  do left = open_cases(trim(cases_file)), 1, -1
    call read_case(a_case)
    call run(a_case, .false.)
    call run(a_case, .true.)
  end do
  close (out)
  if (mode /= 'self') call MPI_Finalize()

contains

  logical function ok(ctx, what, stat)
    type(tokavg_context), intent(in) :: ctx
    character(*), intent(in) :: what
    integer(int32), intent(in) :: stat
    ok = stat == TOKAVG_OK
    if (.not. ok) write (out, '(6a)') 'fault ', what, ': ', tokavg_status_name(stat), ': ', ctx%last_error()
  end function ok

  subroutine record(ctx, ticket, call, totals)
    type(tokavg_context), intent(in) :: ctx
    integer(int64), intent(in) :: ticket
    type(call_t), intent(in) :: call
    type(totals_t), intent(inout) :: totals
    real(real64) :: backward, total
    integer(int32) :: stat
    call record_call(ctx, ticket, call, backward, total, stat)
    if (.not. ok(ctx, 'loss', stat) .or. call%discard /= 0) return
    totals%backward(call%term) = totals%backward(call%term) + backward
    totals%sum(call%term) = totals%sum(call%term) + total
  end subroutine record

  pure logical function has_losses(call)
    type(call_t), intent(in) :: call
    has_losses = allocated(call%losses32) .or. allocated(call%losses64)
  end function has_losses

  subroutine count_all(ctx, calls, after, totals)
    type(tokavg_context), intent(in) :: ctx
    type(call_t), intent(in) :: calls(:)
    logical, intent(in) :: after
    type(totals_t), intent(inout) :: totals
    integer :: i
    integer(int32) :: stat
    logical :: fine, last
    do i = 1, size(calls)
      call count_call(ctx, calls(i), stat)
      fine = ok(ctx, 'count', stat)
      if (after .and. has_losses(calls(i))) call record(ctx, TOKAVG_OPEN, calls(i), totals)
      last = i == size(calls)
      if (.not. last) last = calls(i + 1)%same == 0
      if (calls(i)%discard == 0 .or. .not. last) cycle
      call ctx%discard(stat)
      fine = ok(ctx, 'discard', stat)
    end do
  end subroutine count_all

  subroutine put_scaled(ctx, ticket, term, factor)
    type(tokavg_context), intent(in) :: ctx
    integer(int64), intent(in) :: ticket
    integer(int32), intent(in) :: term
    real(real64), intent(in) :: factor
    real(real64), target :: wide(1)
    real(real32), target :: narrow(1)
    integer(int32) :: stat
    logical :: fine
    wide = 3
    if (.not. abs(factor) > 0) wide = ieee_value(wide, ieee_quiet_nan)
    narrow = real(wide, real32)
    call ctx%scale(ticket, [tokavg_scale_item(wide), tokavg_scale_item(narrow)], term=term, stat=stat)
    fine = ok(ctx, 'scale', stat)
    call put_bits(out, wide(1))
    call put_bits(out, real(narrow(1), real64))
  end subroutine put_scaled

  real(real64) function factor_of(ctx, ticket, kind, term) result(factor)
    type(tokavg_context), intent(in) :: ctx
    integer(int64), intent(in) :: ticket
    integer(int32), intent(in) :: kind, term
    integer(int32) :: stat
    logical :: fine
    factor = ctx%factor(ticket, kind, term, stat)
    fine = ok(ctx, 'factor', stat)
  end function factor_of

  subroutine put_result(ctx, ticket, terms, after, totals, result)
    type(tokavg_context), intent(in) :: ctx
    integer(int64), intent(in) :: ticket
    integer(int32), intent(in) :: terms
    logical, intent(in) :: after
    type(totals_t), intent(in) :: totals
    type(tokavg_result_t), intent(in) :: result
    real(real64) :: factor
    integer :: t
    do t = 0, terms - 1
      factor = factor_of(ctx, ticket, TOKAVG_FACTOR_SCALE, t)
      write (out, '(a, 4(1x, i0))', advance='no') 'term', t, result%tokens(t), result%nonfinite(t), &
          result%loss_tokens(t)
      call put_bits(out, result%weight_sum(t))
      call put_bits(out, result%factor(t))
      call put_bits(out, factor)
      call put_bits(out, factor_of(ctx, ticket, TOKAVG_FACTOR_REPORT, t))
      call put_bits(out, result%mean_loss(t))
      call put_bits(out, totals%backward(t))
      call put_bits(out, totals%sum(t))
      if (after) then
        call put_scaled(ctx, ticket, t, factor)
      else
        write (out, '(a)', advance='no') ' - -'
      end if
      write (out, '()')
    end do
    write (out, '(a, i0)', advance='no') 'end ', result%microbatches
    call put_bits(out, factor_of(ctx, ticket, TOKAVG_FACTOR_MICROBATCH, 0))
    write (out, '(*(1x, i0))') result%empty_ranks, result%done_ranks, result%failed_ranks, result%ranks, result%flags
  end subroutine put_result

  subroutine run_step(ctx, index, step, rank, terms, after)
    type(tokavg_context), intent(in) :: ctx
    integer, intent(in) :: index, rank
    type(step_t), intent(in) :: step
    integer(int32), intent(in) :: terms
    logical, intent(in) :: after
    type(totals_t) :: totals
    type(tokavg_result_t) :: result
    integer(int64) :: ticket
    integer(int32) :: stat
    integer :: i
    logical :: fine
    associate (input => step%ranks(rank + 1))
      call count_all(ctx, input%calls, after, totals)
      call ctx%reduce(ticket, flags=merge(TOKAVG_REDUCE_DONE, 0, input%done /= 0), stat=stat)
      fine = ok(ctx, 'reduce', stat)
      if (.not. after) then
        do i = 1, merge(size(input%calls), 0, step%error == 0)
          if (input%calls(i)%discard == 0 .and. has_losses(input%calls(i))) then
            call record(ctx, ticket, input%calls(i), totals)
          end if
        end do
        call ctx%flush(stat=stat)
        fine = ok(ctx, 'flush', stat)
      end if
    end associate
    call ctx%wait(ticket, merge(TOKAVG_WAIT_LOSS, TOKAVG_WAIT_COUNT, step%losses /= 0), result, stat=stat)
    write (out, '(a, i0, a, i0)') 'step ', index, ' status ', stat
    if (stat >= 0) call put_result(ctx, ticket, terms, after, totals, result)
  end subroutine run_step

  !> Without a communicator this rank is alone.
  subroutine run_case(c, rank, comm, after)
    type(case_t), intent(in) :: c
    integer, intent(in) :: rank
    type(MPI_Comm), intent(in), optional :: comm
    logical, intent(in) :: after
    type(tokavg_context) :: ctx
    type(tokavg_config_t) :: config
    integer(int32) :: stat
    integer :: i
    logical :: fine
    write (out, '(5a, i0)') 'case ', c%id, ' ', trim(merge('after ', 'before', after)), ' rank ', rank
    config = c%config
    if (config%label_copies > 1) config%label_copy_index = modulo(rank, config%label_copies)
    config%asks_only = c%steps(1)%ranks(rank + 1)%asks_only
    if (c%alone /= 0 .or. .not. present(comm)) then
      config%comm_kind = TOKAVG_COMM_SELF
      call tokavg_init(ctx, config, stat)
    else if (mode == 'plain') then
      call tokavg_init(ctx, comm%MPI_VAL, config, stat)
    else
      call tokavg_init(ctx, comm, config, stat)
    end if
    if (.not. ok(ctx, 'tokavg_init', stat)) return
    do i = 1, size(c%steps)
      call run_step(ctx, i - 1, c%steps(i), rank, max(config%terms, 1), after)
    end do
    call ctx%finalize(stat)
    fine = ok(ctx, 'finalize', stat)
    call ctx%free(stat)
    fine = ok(ctx, 'free', stat)
  end subroutine run_case

  subroutine run(c, after)
    type(case_t), intent(in) :: c
    logical, intent(in) :: after
    type(MPI_Comm) :: comm
    integer :: r
    if (mode == 'self') then
      do r = 0, merge(c%ranks, 0, c%ranks == 1 .or. c%alone /= 0) - 1
        call run_case(c, r, after=after)
      end do
    else if (c%ranks <= ranks) then
      call MPI_Comm_split(MPI_COMM_WORLD, merge(0, MPI_UNDEFINED, rank < c%ranks), rank, comm)
      if (comm == MPI_COMM_NULL) return
      call run_case(c, rank, comm, after)
      call MPI_Comm_free(comm)
    end if
  end subroutine run
end program driver
