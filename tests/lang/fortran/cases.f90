! SPDX-License-Identifier: Apache-2.0
!> The contract cases as ../README.md writes them, read word by word. A row of a case is a column of a Fortran array.
module cases
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int32, int64, real32, real64
  use tokavg, only: tokavg_config_t, TOKAVG_DTYPE_F32, TOKAVG_DTYPE_I32
  implicit none
  private
  public :: call_t, case_t, open_cases, put_bits, rank_t, read_case, step_t

  !> One call's arrays in the types that the library is to read; an array that is not there is not allocated.
  type :: call_t
    integer :: rows, cols, shift, term, same, discard
    integer(int32), allocatable :: labels32(:, :)
    integer(int64), allocatable :: labels64(:, :)
    real(real32), allocatable :: losses32(:, :), weights32(:, :)
    real(real64), allocatable :: losses64(:, :), weights64(:, :)
    integer(int8), allocatable :: mask(:, :)
  end type call_t

  type :: rank_t
    integer :: done, asks_only
    type(call_t), allocatable :: calls(:)
  end type rank_t

  type :: step_t
    integer :: error, losses
    type(rank_t), allocatable :: ranks(:)
  end type step_t

  type :: case_t
    character(:), allocatable :: id
    integer :: ranks, alone
    type(tokavg_config_t) :: config
    type(step_t), allocatable :: steps(:)
  end type case_t

  character(:), allocatable :: text
  integer :: place = 1

contains

  !> The number of cases in the file.
  integer function open_cases(name)
    character(*), intent(in) :: name
    integer :: unit, length
    open (newunit=unit, file=name, access='stream', form='unformatted', action='read', status='old')
    inquire (unit=unit, size=length)
    text = repeat(' ', length)
    read (unit) text
    close (unit)
    open_cases = named('cases')
  end function open_cases

  function word()
    character(:), allocatable :: word
    character(*), parameter :: blanks = ' ' // achar(10)
    integer :: first, length
    first = verify(text(place:), blanks)
    if (first == 0) call bad('a word is missing')
    place = place + first - 1
    length = scan(text(place:), blanks) - 1
    word = text(place:place + length - 1)
    place = place + length
  end function word

  subroutine bad(what)
    character(*), intent(in) :: what
    write (error_unit, '(2a)') 'the cases: ', what
    error stop 2
  end subroutine bad

  subroutine expect(name)
    character(*), intent(in) :: name
    if (word() /= name) call bad(name)
  end subroutine expect

  integer(int64) function long()
    character(:), allocatable :: digits
    digits = word()
    read (digits, *) long
  end function long

  integer function number()
    number = int(long())
  end function number

  integer function named(name)
    character(*), intent(in) :: name
    call expect(name)
    named = number()
  end function named

  real(real64) function double()
    integer(int64) :: bits
    character(:), allocatable :: digits
    digits = word()
    read (digits, '(z16)') bits
    double = transfer(bits, double)
  end function double

  !> A blank, and the bits of a double.
  subroutine put_bits(unit, value)
    integer, intent(in) :: unit
    real(real64), intent(in) :: value
    character(16) :: digits
    integer :: i, at
    write (digits, '(z16.16)') transfer(value, 0_int64)
    do i = 1, 16
      at = index('ABCDEF', digits(i:i))
      if (at > 0) digits(i:i) = 'abcdef'(at:at)
    end do
    write (unit, '(1x, a)', advance='no') digits
  end subroutine put_bits

  subroutine read_labels(dtype, cols, rows, narrow, wide)
    integer, intent(in) :: dtype, cols, rows
    integer(int32), allocatable, intent(inout) :: narrow(:, :)
    integer(int64), allocatable, intent(inout) :: wide(:, :)
    integer :: r, c
    allocate (wide(cols, rows))
    do r = 1, rows
      do c = 1, cols
        wide(c, r) = long()
      end do
    end do
    if (dtype /= TOKAVG_DTYPE_I32) return
    narrow = int(wide, int32)
    deallocate (wide)
  end subroutine read_labels

  subroutine read_reals(dtype, cols, rows, narrow, wide)
    integer, intent(in) :: dtype, cols, rows
    real(real32), allocatable, intent(inout) :: narrow(:, :)
    real(real64), allocatable, intent(inout) :: wide(:, :)
    integer :: r, c
    if (dtype == 0) return
    allocate (wide(cols, rows))
    do r = 1, rows
      do c = 1, cols
        wide(c, r) = double()
      end do
    end do
    if (dtype /= TOKAVG_DTYPE_F32) return
    narrow = real(wide, real32)
    deallocate (wide)
  end subroutine read_reals

  subroutine read_call(into)
    type(call_t), intent(out) :: into
    integer :: labels, losses, weights, mask, r, c
    call expect('call')
    into%rows = named('rows')
    into%cols = named('cols')
    into%shift = named('shift')
    into%term = named('term')
    labels = named('labels')
    losses = named('losses')
    weights = named('weights')
    mask = named('mask')
    into%same = named('same')
    into%discard = named('discard')
    call read_labels(labels, into%cols, into%rows, into%labels32, into%labels64)
    call read_reals(losses, into%cols, into%rows, into%losses32, into%losses64)
    call read_reals(weights, into%cols, into%rows, into%weights32, into%weights64)
    if (mask == 0) return
    allocate (into%mask(into%cols, into%rows))
    do r = 1, into%rows
      do c = 1, into%cols
        into%mask(c, r) = int(number(), int8)
      end do
    end do
  end subroutine read_call

  subroutine read_config(config)
    type(tokavg_config_t), intent(out) :: config
    call expect('config')
    config%gradient_reduction = number()
    config%gradient_ranks = number()
    config%label_copies = number()
    config%microbatch_shards = number()
    config%divisor = number()
    config%terms = number()
    config%ignore_index = long()
    config%accumulation_divisor = double()
    config%timeout_ms = 60000
  end subroutine read_config

  subroutine read_rank(number, into)
    integer, intent(in) :: number
    type(rank_t), intent(out) :: into
    integer :: i, n
    if (named('rank') /= number) call bad('ranks are out of order')
    n = named('calls')
    into%done = named('done')
    into%asks_only = named('asks')
    allocate (into%calls(n))
    do i = 1, n
      call read_call(into%calls(i))
    end do
  end subroutine read_rank

  subroutine read_case(into)
    type(case_t), intent(out) :: into
    integer :: i, r
    call expect('case')
    into%id = word()
    into%ranks = named('ranks')
    into%alone = named('self')
    i = named('steps')
    allocate (into%steps(i))
    call read_config(into%config)
    do i = 1, size(into%steps)
      call expect('step')
      into%steps(i)%error = named('error')
      into%steps(i)%losses = named('losses')
      allocate (into%steps(i)%ranks(into%ranks))
      do r = 1, into%ranks
        call read_rank(r - 1, into%steps(i)%ranks(r))
      end do
    end do
  end subroutine read_case
end module cases
