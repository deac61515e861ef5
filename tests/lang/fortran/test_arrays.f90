! SPDX-License-Identifier: Apache-2.0
!> Kinds, ranks, sections and column-major order; and that outputs land in sections without a copy.
program test_arrays
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tokavg
  use unit
  implicit none
  type :: token_t
    integer(int64) :: label
    real(real64) :: loss
    real(real32) :: weight(3)
  end type token_t
  type(tokavg_context) :: ctx

  ctx = new_context()
  call sections_of_rank_1()
  call sections_of_rank_2()
  call components()
  call shift_drops_the_first_tokens()
  call weights_and_masks()
  call scaled_sections()
  call sixteen_bits()
  call structs()
  call ctx%finalize()
  call ctx%free()
  call finish()

contains

  !> What the open step holds.
  integer(int64) function tokens()
    type(tokavg_result_t) :: result
    integer(int64) :: step
    integer(int32) :: stat
    call ctx%reduce(step)
    call ctx%wait(step, TOKAVG_WAIT_COUNT, result, stat=stat)
    call check(stat >= 0, 'a step is fine')
    tokens = result%tokens(0)
  end function tokens

  subroutine sections_of_rank_1()
    integer(int32) :: a(9) = [1, -100, 2, -100, 3, -100, 4, -100, 5]
    call ctx%count(a)
    call check(tokens() == 5, 'all of them')
    call ctx%count(a(::2))
    call check(tokens() == 5, 'every second')
    call ctx%count(a(2::2))
    call check(tokens() == 0, 'the others')
    call ctx%count(a(9:1:-2))
    call check(tokens() == 5, 'backwards')
    call ctx%count(a([1, 2, 3]))
    call check(tokens() == 2, 'a vector subscript, of which the compiler makes a copy')
    call ctx%count(2 * a(1:1))
    call check(tokens() == 1, 'an expression')
    call ctx%count(a(1:0))
    call check(tokens() == 0, 'nothing')
    call ctx%count(a(5:5))
    call check(tokens() == 1, 'one')
  end subroutine sections_of_rank_1

  subroutine sections_of_rank_2()
    integer(int64) :: a(6, 4)
    integer :: i
    a = reshape([(int(i, int64), i=1, 24)], [6, 4])
    a(2::2, :) = -100
    a(:, 3) = -100
    call ctx%count(a)
    call check(tokens() == 9, 'all of them')
    call ctx%count(a(1::2, 1:4:3))
    call check(tokens() == 6, 'both strides')
    call ctx%count(a(6:1:-1, 4:1:-1))
    call check(tokens() == 9, 'backwards')
    call ctx%count(a(1, :))
    call check(tokens() == 3, 'a row')
    call ctx%count(transpose(a))
    call check(tokens() == 9, 'an expression')
    call ctx%count(a(:, 1:0))
    call check(tokens() == 0, 'nothing')
  end subroutine sections_of_rank_2

  !> Components of an array of structures have strides too; the losses are read in place and the sum is of these alone.
  subroutine components()
    type(token_t), target :: batch(3, 2)
    real(real64), pointer :: losses(:, :)
    real(real32), pointer :: weights(:, :)
    integer(int64), pointer :: labels(:, :)
    real(real64) :: backward, total
    integer(int64) :: step
    integer(int32) :: stat
    integer :: i
    batch%label = reshape([1_int64, 2_int64, -100_int64, 4_int64, 5_int64, 6_int64], [3, 2])
    batch%loss = reshape([(real(i, real64), i=1, 6)], [3, 2])
    batch%weight(2) = 2
    call ctx%count(batch%label)
    call ctx%reduce(step)
    call ctx%loss(step, batch%loss, batch%label, backward, total)
    call check_near(total, 18.0_real64, 'the sum of the scored losses')
    call check_near(backward, 18.0_real64 / 5, 'divided by the tokens')
    call ctx%count(batch%label)
    call ctx%reduce(step)
    losses => batch%loss
    labels => batch%label
    call ctx%loss(step, losses, tokavg_labels(labels), sum=total)
    call check_near(total, 18.0_real64, 'pointers to components')
    call ctx%scale(step, [tokavg_scale_item(losses)], kind=TOKAVG_FACTOR_REPORT, stat=stat)
    call check(stat == TOKAVG_ERR_ARGUMENT, 'an item of components has gaps')
    call check_near(batch(2, 2)%loss, 5.0_real64, 'and was not scaled')
    call ctx%reduce(step)
    call ctx%count(batch%label)
    weights => batch%weight(2)
    call ctx%loss(TOKAVG_OPEN, batch%loss, tokavg_labels(labels, weights=weights), sum=total)
    call check_near(total, 36.0_real64, 'with weights')
    call ctx%count(labels)
    call ctx%loss(TOKAVG_OPEN, losses, batch%label, weights=real(batch%weight(2), real64), sum=total)
    call check_near(total, 36.0_real64, 'with weights as an array')
    call ctx%count(batch%label)
    call ctx%loss(TOKAVG_OPEN, real(batch%loss, real32), batch%label, mask=spread([(0_int8, i=1, 3)], 2, 2), sum=total)
    call check_near(total, 0.0_real64, 'with a mask as an array')
    call check(tokens() == 15, 'and the tokens')
  end subroutine components

  subroutine shift_drops_the_first_tokens()
    integer(int32) :: labels(5, 2) = 1
    call ctx%count(labels, shift=1)
    call check(tokens() == 8, 'the first token of each sequence is the first of each column')
    call ctx%count(labels(:, 1), shift=2)
    call check(tokens() == 3, 'rank 1 is one sequence')
  end subroutine shift_drops_the_first_tokens

  subroutine weights_and_masks()
    type(tokavg_context) :: weighted
    type(tokavg_result_t) :: result
    integer(int64), target :: labels(2, 2) = 1
    integer(int8), target :: mask(2, 2) = reshape([1_int8, 0_int8, 1_int8, 1_int8], [2, 2])
    real(real32), target :: weights(2, 2) = reshape([0.5, 64.0, 0.25, 1.0], [2, 2])
    integer(int64) :: step
    integer(int32) :: stat
    type(tokavg_labels_t) :: set
    weighted = new_context(terms=2, divisor=TOKAVG_DIVISOR_WEIGHTS)
    call weighted%count(labels, mask, weights)
    call weighted%count(tokavg_labels(labels(:, 1), weights=weights(:, 2), term=1, &
        flags=TOKAVG_LABELS_SAME_MICROBATCH))
    call weighted%count_add(3_int64, weight_sum=0.75_real64, term=1)
    call weighted%reduce(step, step_id=12_int64, accumulation_divisor=2.0_real64)
    call weighted%wait(step, TOKAVG_WAIT_COUNT, result)
    call check(all(result%tokens(0:1) == [3, 5]) .and. result%microbatches == 2, 'tokens of two terms')
    call check_near(result%weight_sum(0), 1.75_real64, 'sum of the weights')
    call check_near(result%weight_sum(1), 2.0_real64, 'sum of the weights of the second term')
    call check_near(weighted%factor(step, term=1), 1.0_real64, 'A / Z')
    call check_near(weighted%factor(step, TOKAVG_FACTOR_REPORT, 1), 0.5_real64, '1 / Z')
    call check(result%step_id == 12, 'step_id')
    set = tokavg_labels(labels, mask(:, 1:1), stat=stat)
    call check(stat == TOKAVG_ERR_ARGUMENT, 'a mask of another shape')
    call weighted%count(set, stat=stat)
    call check(stat == TOKAVG_ERR_ARGUMENT, 'and the library refuses what came of it')
    call weighted%free()
  end subroutine weights_and_masks

  subroutine scaled_sections()
    real(real64), target :: a(4, 3), b(8)
    real(real32), target :: c(2, 2, 2), d(1, 2, 1, 2)
    integer(int64) :: step
    integer(int32) :: stat
    character(100) :: errmsg
    b = 1
    a = 1
    c = 1
    d = 1
    call ctx%count_add(2_int64)
    call ctx%reduce(step)
    call ctx%scale(step, a, kind=TOKAVG_FACTOR_REPORT)
    call ctx%scale(step, a(1:2, :), kind=TOKAVG_FACTOR_REPORT)
    call ctx%scale(step, a(3:4, 1), kind=TOKAVG_FACTOR_REPORT, factor=4.0_real64)
    call check(all(abs(a(1:2, :) - 0.25_real64) < 1e-12_real64), 'columns of a part')
    call check(all(abs(a(3:4, 2:3) - 0.5_real64) < 1e-12_real64), 'and not the rest')
    call check(all(abs(a(3:4, 1) - 1) < 1e-12_real64), 'a further factor')
    call ctx%scale(step, c, kind=TOKAVG_FACTOR_REPORT)
    call ctx%scale(step, d(:, :, :, 2), kind=TOKAVG_FACTOR_REPORT)
    call check(all(abs(c - 0.5) < 1e-6) .and. abs(sum(d) - 3) < 1e-6, 'ranks 3 and 4')
    call ctx%scale(step, [tokavg_scale_item(b), tokavg_scale_item(d)], kind=TOKAVG_FACTOR_REPORT)
    call check(all(abs(b - 0.5_real64) < 1e-12_real64) .and. abs(sum(d) - 1.5) < 1e-6, 'several arrays')
    call ctx%scale(step, a(1, :), stat=stat, errmsg=errmsg)
    call check(stat == TOKAVG_ERR_ARGUMENT .and. errmsg == 'the array is not contiguous', 'a row: ' // trim(errmsg))
    call ctx%scale(step, [tokavg_scale_item(b(::2))], stat=stat)
    call check(stat == TOKAVG_ERR_ARGUMENT, 'the item of a section with gaps')
    call check(abs(sum(b) - 4) < 1e-12_real64 .and. abs(a(1, 1) - 0.25_real64) < 1e-12_real64, 'nothing was scaled')
    ! Those refusals marked the open step.
    call ctx%reduce(step)
    call ctx%wait(step, TOKAVG_WAIT_COUNT, stat=stat)
    call check(stat == TOKAVG_ERR_ARGUMENT, 'the open step has failed')
  end subroutine scaled_sections

  subroutine sixteen_bits()
    integer(int16) :: half(2) = [int(z'3c00', int16), int(z'4000', int16)]   ! 1 and 2
    integer(int16) :: brain(2) = [int(z'3f80', int16), int(z'4000', int16)]
    integer(int64) :: step
    call ctx%count_add(2_int64)
    call ctx%reduce(step)
    call ctx%scale(step, half, TOKAVG_DTYPE_F16, TOKAVG_FACTOR_REPORT)
    call ctx%scale(step, brain, TOKAVG_DTYPE_BF16, TOKAVG_FACTOR_REPORT)
    call check(all(half == [int(z'3800', int16), int(z'3c00', int16)]), 'binary16')
    call check(all(brain == [int(z'3f00', int16), int(z'3f80', int16)]), 'bfloat16')
  end subroutine sixteen_bits

  !> The structs of C do as well, for memory that is no Fortran array.
  subroutine structs()
    use, intrinsic :: iso_c_binding, only: c_loc
    integer(int32), target :: labels(4) = [1, 2, -100, 3]
    real(real64), target :: loss = 6, gradient = 3
    type(tokavg_scale_item_t), target :: item
    type(tokavg_labels_t) :: set
    integer(int64) :: step
    set%rows = 1
    set%cols = 4
    set%labels = tokavg_array_t(data=c_loc(labels), dtype=TOKAVG_DTYPE_I32, memory=TOKAVG_MEMORY_HOST)
    call ctx%count(set)
    call ctx%loss(TOKAVG_OPEN, tokavg_loss_t(kind=TOKAVG_LOSS_SUM, tokens=3, &
        losses=tokavg_array_t(data=c_loc(loss), dtype=TOKAVG_DTYPE_F64)))
    call ctx%reduce(step)
    item = tokavg_scale_item_t(data=c_loc(gradient), count=1, dtype=TOKAVG_DTYPE_F64)
    call ctx%scale(step, tokavg_scale_t(items=c_loc(item), n_items=1, kind=TOKAVG_FACTOR_SCALE))
    call check_near(gradient, 1.0_real64, 'scaled through the structs')
    call ctx%release(step)
  end subroutine structs
end program test_arrays
