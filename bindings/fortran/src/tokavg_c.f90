! SPDX-License-Identifier: Apache-2.0
!> The functions of include/tokavg/tokavg.h as C has them: c_count is tokavg_count, and so on. Structs are handed
!> over as addresses (c_loc), so that NULL is possible.
module tokavg_c
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_int32_t, c_int64_t, c_ptr
  implicit none
  private :: c_char, c_double, c_int32_t, c_int64_t, c_ptr

  abstract interface
    !> config%log = c_funloc(...): receives log lines; tokavg_text() makes a Fortran text of `text`.
    subroutine tokavg_log_callback(user, level, text) bind(c)
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: user, text
      integer(c_int32_t), value :: level
    end subroutine tokavg_log_callback
  end interface

  interface
    function c_version() bind(c, name='tokavg_version')
      import :: c_ptr
      type(c_ptr) :: c_version
    end function c_version

    integer(c_int32_t) function c_abi_version() bind(c, name='tokavg_abi_version')
      import :: c_int32_t
    end function c_abi_version

    function c_status_name(status) bind(c, name='tokavg_status_name')
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: status
      type(c_ptr) :: c_status_name
    end function c_status_name

    integer(c_int32_t) function c_describe(ctx, text, capacity, needed_out) bind(c, name='tokavg_describe')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: capacity
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_int64_t), intent(inout) :: needed_out
    end function c_describe

    integer(c_int32_t) function c_config_init(config, struct_size) bind(c, name='tokavg_config_init')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: config
      integer(c_int32_t), value :: struct_size
    end function c_config_init

    integer(c_int32_t) function c_init(config, ctx_out) bind(c, name='tokavg_init')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: config
      type(c_ptr), intent(inout) :: ctx_out
    end function c_init

    integer(c_int32_t) function c_finalize(ctx) bind(c, name='tokavg_finalize')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
    end function c_finalize

    integer(c_int32_t) function c_free(ctx) bind(c, name='tokavg_free')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
    end function c_free

    integer(c_int32_t) function c_abort(ctx) bind(c, name='tokavg_abort')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
    end function c_abort

    integer(c_int32_t) function c_threads_create(ranks, group_out) bind(c, name='tokavg_threads_create')
      import :: c_int32_t, c_ptr
      integer(c_int32_t), value :: ranks
      type(c_ptr), intent(inout) :: group_out
    end function c_threads_create

    integer(c_int32_t) function c_threads_free(group) bind(c, name='tokavg_threads_free')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: group
    end function c_threads_free

    integer(c_int32_t) function c_count(ctx, labels, stream) bind(c, name='tokavg_count')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx, labels, stream
    end function c_count

    integer(c_int32_t) function c_count_add(ctx, term, tokens, weight_sum, microbatches) &
        bind(c, name='tokavg_count_add')
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int32_t), value :: term
      integer(c_int64_t), value :: tokens, microbatches
      real(c_double), value :: weight_sum
    end function c_count_add

    integer(c_int32_t) function c_discard(ctx) bind(c, name='tokavg_discard')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
    end function c_discard

    integer(c_int32_t) function c_reduce(ctx, options, stream, ticket_out) bind(c, name='tokavg_reduce')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx, options, stream
      integer(c_int64_t), intent(inout) :: ticket_out
    end function c_reduce

    integer(c_int32_t) function c_flush(ctx, stream) bind(c, name='tokavg_flush')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx, stream
    end function c_flush

    integer(c_int32_t) function c_progress(ctx) bind(c, name='tokavg_progress')
      import :: c_int32_t, c_ptr
      type(c_ptr), value :: ctx
    end function c_progress

    integer(c_int32_t) function c_wait(ctx, ticket, what, timeout_ms, result_out) bind(c, name='tokavg_wait')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx, result_out
      integer(c_int64_t), value :: ticket, timeout_ms
      integer(c_int32_t), value :: what
    end function c_wait

    integer(c_int32_t) function c_factor(ctx, ticket, term, kind, factor_out) bind(c, name='tokavg_factor')
      import :: c_double, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: ticket
      integer(c_int32_t), value :: term, kind
      real(c_double), intent(inout) :: factor_out
    end function c_factor

    integer(c_int32_t) function c_factor_device(ctx, ticket, term, kind, stream, factor_out) &
        bind(c, name='tokavg_factor_device')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx, stream
      integer(c_int64_t), value :: ticket
      integer(c_int32_t), value :: term, kind
      type(c_ptr), intent(inout) :: factor_out
    end function c_factor_device

    integer(c_int32_t) function c_loss(ctx, ticket, loss, stream) bind(c, name='tokavg_loss')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx, loss, stream
      integer(c_int64_t), value :: ticket
    end function c_loss

    integer(c_int32_t) function c_cross_entropy(ctx, ticket, ce, stream) bind(c, name='tokavg_cross_entropy')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx, ce, stream
      integer(c_int64_t), value :: ticket
    end function c_cross_entropy

    integer(c_int32_t) function c_scale(ctx, ticket, scale, stream) bind(c, name='tokavg_scale')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx, scale, stream
      integer(c_int64_t), value :: ticket
    end function c_scale

    integer(c_int32_t) function c_release(ctx, ticket) bind(c, name='tokavg_release')
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: ticket
    end function c_release

    integer(c_int32_t) function c_last_error(ctx, text, capacity, needed_out) bind(c, name='tokavg_last_error')
      import :: c_char, c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value :: ctx
      integer(c_int64_t), value :: capacity
      character(kind=c_char), intent(inout) :: text(*)
      integer(c_int64_t), intent(inout) :: needed_out
    end function c_last_error
  end interface
end module tokavg_c
