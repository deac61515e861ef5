! SPDX-License-Identifier: Apache-2.0
!> Cross entropy against a few lines of Fortran: ranks, sections, one-based classes, in place, 16 bits, bad shapes.
program test_cross_entropy
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tokavg
  use unit
  implicit none
  integer, parameter :: vocab = 5, seq = 3, batch = 2
  real(real32), parameter :: near = 1e-6
  type(tokavg_context) :: ctx
  real(real32) :: logits(vocab, seq, batch), gradient(vocab, seq, batch), expected(vocab, seq, batch)
  real(real32) :: losses(seq, batch), lse(seq, batch), wanted(seq, batch)
  integer(int32), target :: labels(seq, batch) = reshape([1, 5, 3, -100, 2, 4], [seq, batch])
  integer(int32) :: argmax(seq, batch)
  integer :: i

  ctx = new_context()
  logits = reshape([(real(modulo(7 * i, 11), real32) / 4, i=1, size(logits))], shape(logits))
  call by_hand()
  call rank_3()
  call from_array()
  call rank_2()
  call sections()
  call components()
  call in_place()
  call sixteen_bits()
  call zero_based()
  call refused()
  call ctx%free()
  call finish()

contains

  integer(int64) function counted() result(step)
    call ctx%count(labels)
    call ctx%reduce(step)
  end function counted

  !> The loss of each label, and the gradient of their mean over 5 tokens.
  subroutine by_hand()
    integer :: s, b
    do b = 1, batch
      do s = 1, seq
        wanted(s, b) = 0
        expected(:, s, b) = 0
        if (labels(s, b) == -100) cycle
        wanted(s, b) = log(sum(exp(logits(:, s, b)))) - logits(labels(s, b), s, b)
        expected(:, s, b) = exp(logits(:, s, b)) / sum(exp(logits(:, s, b)))
        expected(labels(s, b), s, b) = expected(labels(s, b), s, b) - 1
      end do
    end do
    expected = expected / 5
  end subroutine by_hand

  subroutine rank_3()
    real(real32) :: backward
    real(real64) :: total
    integer(int64) :: step
    step = counted()
    call ctx%cross_entropy(step, logits, tokavg_labels(labels), gradient, losses, lse, argmax, backward=backward, &
        sum=total)
    call check(all(abs(gradient - expected) < near), 'the gradient')
    call check(all(abs(losses - wanted) < 4 * near), 'the losses')
    call check(all(abs(lse - merge(log(sum(exp(logits), dim=1)), 0.0, labels /= -100)) < 4 * near), 'lse')
    call check(all(argmax == merge(maxloc(logits, dim=1), -1, labels /= -100)), 'classes are one-based')
    call check_near(total, real(sum(wanted), real64), 'the sum')
    call check_near(real(backward, real64), real(sum(wanted), real64) / 5, 'backward')
  end subroutine rank_3

  !> The same from the labels' array itself, which need not be a target.
  subroutine from_array()
    integer(int64) :: wide_labels(seq, batch), step
    real(real32) :: copy(vocab, seq, batch)
    integer(int8) :: mask(seq, batch)
    wide_labels = labels
    step = counted()
    call ctx%cross_entropy(step, logits, wide_labels, gradient, losses)
    call check(all(abs(gradient - expected) < near) .and. all(abs(losses - wanted) < 4 * near), 'labels as an array')
    copy = logits
    step = counted()
    call ctx%cross_entropy_in_place(step, copy, labels)
    call check(all(abs(copy - expected) < near), 'in place with labels as an array')
    mask = 1
    mask(1, 1) = 0
    call ctx%count(wide_labels, mask, shift=1)
    call ctx%reduce(step)
    call ctx%cross_entropy(step, logits, wide_labels, gradient, losses, mask=mask, shift=1)
    call check(all(abs(losses(1, :)) < near) .and. all(abs(gradient(:, seq, :)) < near), 'the last logits of a shift')
    call check(abs(losses(2, 1) - (log(sum(exp(logits(:, 1, 1)))) - logits(labels(2, 1), 1, 1))) < 4 * near, 'shifted')
  end subroutine from_array

  subroutine rank_2()
    real(real32) :: flat_gradient(vocab, seq * batch), flat_losses(seq * batch)
    integer(int32), target :: flat_labels(seq * batch)
    integer(int64) :: step
    step = counted()
    flat_labels = reshape(labels, shape(flat_labels))
    call ctx%cross_entropy(step, reshape(logits, shape(flat_gradient)), tokavg_labels(flat_labels), flat_gradient)
    call check(all(abs(reshape(flat_gradient, shape(expected)) - expected) < near), 'rank 2, labels of rank 1')
    step = counted()
    flat_gradient = 9
    call ctx%cross_entropy(step, reshape(logits, shape(flat_gradient)), tokavg_labels(labels), flat_gradient, &
        flat_losses)
    call check(all(abs(reshape(flat_gradient, shape(expected)) - expected) < near), 'rank 2, labels of rank 2')
    call check(all(abs(reshape(flat_losses, shape(wanted)) - wanted) < 4 * near), 'their losses end to end')
  end subroutine rank_2

  !> Everything in sections of larger arrays, whose rest must stay as it is.
  subroutine sections()
    real(real32) :: padded(vocab + 3, 2 * seq, batch + 1), wide(2 * seq, batch), widest(3, vocab + 1, seq, batch)
    integer(int32), target :: spread(2 * seq, batch)
    integer(int64) :: step
    widest = 7
    padded = 7
    wide = 7
    spread = 0
    widest(2, 1:vocab, :, :) = logits
    padded(1:vocab, ::2, 2:) = logits
    spread(::2, :) = labels
    step = counted()
    call ctx%cross_entropy(step, padded(1:vocab, ::2, 2:), tokavg_labels(spread(::2, :)), &
        gradient(:, seq:1:-1, :), wide(2::2, :))
    call check(all(abs(gradient(:, seq:1:-1, :) - expected) < near), 'a gradient backwards')
    call check(all(abs(wide(2::2, :) - wanted) < 4 * near), 'losses in every second element')
    call check(all(abs(wide(1::2, :) - 7) < near), 'and not in the others')
    step = counted()
    call ctx%cross_entropy_in_place(step, padded(1:vocab, ::2, 2:), tokavg_labels(labels))
    call check(all(abs(padded(1:vocab, ::2, 2:) - expected) < near), 'in place in a section')
    call check(all(abs(padded(vocab + 1:, :, :) - 7) < near) .and. all(abs(padded(:, 2::2, :) - 7) < near) .and. &
        all(abs(padded(:, :, 1) - 7) < near), 'and nothing else')
  end subroutine sections

  !> The compiler copies components for the call, and back.
  subroutine components()
    type :: token_t
      real(real32) :: other, loss
    end type token_t
    type(token_t) :: tokens(seq, batch)
    integer(int64) :: step
    tokens = token_t(7, 7)
    step = counted()
    call ctx%cross_entropy(step, logits, labels, losses=tokens%loss)
    call check(all(abs(tokens%loss - wanted) < 4 * near), 'losses into components')
    call check(all(abs(tokens%other - 7) < near), 'and into no others')
  end subroutine components

  subroutine in_place()
    real(real32) :: copy(vocab, seq, batch), flat(vocab, seq * batch)
    integer(int64) :: step
    copy = logits
    flat = reshape(logits, shape(flat))
    step = counted()
    call ctx%cross_entropy_in_place(step, copy, tokavg_labels(labels))
    call check(all(abs(copy - expected) < near), 'in place')
    step = counted()
    call ctx%cross_entropy_in_place(step, flat, tokavg_labels(labels))
    call check(all(abs(reshape(flat, shape(expected)) - expected) < near), 'in place, rank 2')
  end subroutine in_place

  !> The logits are multiples of a quarter below 4, which bfloat16 has exactly.
  subroutine sixteen_bits()
    integer(int16) :: brain(vocab, seq, batch), brain_gradient(vocab, seq, batch)
    integer(int64) :: step
    real(real32) :: wide(vocab, seq, batch)
    integer(int32) :: bits(vocab * seq * batch)
    brain = reshape(int(shifta(transfer(logits, [0_int32]), 16), int16), shape(brain))
    step = counted()
    call ctx%cross_entropy(step, brain, tokavg_labels(labels), TOKAVG_DTYPE_BF16, brain_gradient, losses)
    bits = shiftl(int(reshape(brain_gradient, [size(bits)]), int32), 16)
    wide = reshape(transfer(bits, wide, size(wide)), shape(wide))
    call check(all(abs(losses - wanted) < 4 * near), 'losses of bfloat16')
    call check(all(abs(wide - expected) < 2e-3), 'a gradient in bfloat16')
  end subroutine sixteen_bits

  subroutine zero_based()
    integer(int32), target :: from_zero(seq, batch)
    integer(int64) :: step
    integer(int32) :: stat
    character(200) :: errmsg
    from_zero = merge(labels, labels - 1, labels == -100)
    step = counted()
    call ctx%cross_entropy(step, logits, tokavg_labels(from_zero, label_base=0), gradient, argmax=argmax)
    call check(all(abs(gradient - expected) < near), 'zero-based classes')
    call check(all(argmax == merge(maxloc(logits, dim=1) - 1, -1, labels /= -100)), 'and argmax')
    step = counted()
    call ctx%cross_entropy(step, logits, tokavg_labels(from_zero), gradient, stat=stat, errmsg=errmsg)
    call check(stat == TOKAVG_ERR_LABEL, 'a class 0 among one-based ones: ' // trim(errmsg))
    call ctx%reduce(step)
  end subroutine zero_based

  subroutine refused()
    integer(int64) :: step
    integer(int32) :: stat
    character(200) :: errmsg
    real(real32) :: turned(seq, vocab, batch)
    step = counted()
    gradient = 7
    call ctx%cross_entropy(step, logits(:, 1:2, :), tokavg_labels(labels), stat=stat, errmsg=errmsg)
    call check(stat == TOKAVG_ERR_ARGUMENT .and. index(errmsg, 'logits does not fit') > 0, trim(errmsg))
    call ctx%cross_entropy(step, logits, tokavg_labels(labels), gradient(:, :, 1:1), stat=stat, errmsg=errmsg)
    call check(stat == TOKAVG_ERR_ARGUMENT .and. index(errmsg, 'gradient has') > 0, trim(errmsg))
    call ctx%cross_entropy(step, logits, tokavg_labels(labels), gradient, losses(1:2, :), stat=stat, errmsg=errmsg)
    call check(stat == TOKAVG_ERR_ARGUMENT .and. index(errmsg, 'losses does not fit') > 0, trim(errmsg))
    turned = 0
    call ctx%cross_entropy(step, turned(::2, 1:seq, :), tokavg_labels(labels), stat=stat, errmsg=errmsg)
    call check(stat == TOKAVG_ERR_ARGUMENT .and. index(errmsg, 'contiguous') > 0, trim(errmsg))
    call check(all(abs(gradient - 7) < near), 'outputs are untouched')
    call ctx%reduce(step)
    call ctx%wait(step, TOKAVG_WAIT_COUNT, stat=stat)
    call check(stat == TOKAVG_ERR_ARGUMENT, 'the open step has failed')
  end subroutine refused
end program test_cross_entropy
