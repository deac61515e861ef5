! SPDX-License-Identifier: Apache-2.0
!> Threads, a caller's table, the log, abort, describe and version.
program test_life
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use life_callbacks
  use tokavg
  use unit
  implicit none

  call check(tokavg_abi_version() == 1, 'the version of the binary interface')
  call check(len(tokavg_version()) >= 5, 'the version')
  call check(index(tokavg_describe(), '{') == 1, 'the library describes itself')
  call fresh_config()
  call threads()
  call table_and_log()
  call done_and_abort()
  call finish()

contains

  !> A fresh configuration is what the library writes, byte by byte.
  subroutine fresh_config()
    use tokavg_c, only: c_config_init
    type(tokavg_config_t), target :: written, fresh
    written%comm_kind = 5
    call check(c_config_init(c_loc(written), int(c_sizeof(written), c_int32_t)) == TOKAVG_OK, 'config_init')
    associate (expected => transfer(written, [0_c_int8_t]), bytes => transfer(fresh, [0_c_int8_t]))
      call check(size(bytes) == c_sizeof(fresh) .and. all(bytes == expected), 'a fresh configuration has the defaults')
    end associate
  end subroutine fresh_config

  subroutine threads()
    integer, parameter :: ranks = 3
    type(tokavg_threads) :: group
    type(tokavg_context) :: ctx
    type(tokavg_config_t) :: config
    type(tokavg_result_t) :: result(ranks)
    real(real64) :: backward(ranks)
    integer(int64) :: step
    integer :: r
    call group%create(ranks)
    !$omp parallel do num_threads(ranks) private(ctx, config, step) shared(group, result, backward) schedule(static, 1)
    do r = 1, ranks
      config = tokavg_config_t(comm_kind=TOKAVG_COMM_THREADS, comm=group%handle, comm_rank=r - 1, &
          gradient_reduction=TOKAVG_GRADIENT_SUM)
      call tokavg_init(ctx, config)
      call ctx%count_add(int(2 * r - 1, int64))
      call ctx%reduce(step)
      call ctx%loss_mean(step, real(5 - r, real64), int(2 * r - 1, int64), backward(r))
      call ctx%flush()
      call ctx%wait(step, TOKAVG_WAIT_LOSS, result(r))
      call ctx%finalize()
      call ctx%free()
    end do
    call group%free()
    call group%free()
    do r = 1, ranks
      call check_near(result(r)%mean_loss(0), 23.0_real64 / 9, 'the mean over all threads')
    end do
    call check_near(sum(backward), 23.0_real64 / 9, 'and the sum of what goes backward')
  end subroutine threads

  !> One rank whose sums a Fortran table makes.
  subroutine table_and_log()
    type(tokavg_context) :: ctx
    type(tokavg_transport_t), target :: table
    type(tokavg_config_t) :: config
    type(tokavg_result_t) :: result
    integer(int64) :: step
    table%ranks = 1
    table%start = c_funloc(start_sum)
    table%test = c_funloc(test_sum)
    config = tokavg_config_t(comm_kind=TOKAVG_COMM_CALLER, comm=c_loc(table), gradient_reduction=TOKAVG_GRADIENT_MEAN, &
        log=c_funloc(keep_line))
    call tokavg_init(ctx, config)
    call ctx%count([1, 2, 3])
    call ctx%reduce(step)
    call ctx%wait(step, TOKAVG_WAIT_COUNT, result)
    call check(result%tokens(0) == 3 .and. sums > 0, 'summed by the table')
    call ctx%free()
    call check(lines > 0 .and. len(last_line) > 0, 'log lines arrive (TOKAVG_LOG=debug): ' // last_line)
  end subroutine table_and_log

  subroutine done_and_abort()
    type(tokavg_context) :: ctx
    type(tokavg_result_t) :: result
    integer(int64) :: step
    integer(int32) :: stat
    type(c_ptr) :: address
    ctx = new_context()
    call check(index(ctx%describe(), 'gradient') > 0, 'a context describes itself')
    call ctx%count([1])
    call ctx%discard()
    call ctx%discard(stat)
    call check(stat == TOKAVG_ERR_STATE, 'discard twice')
    call ctx%reduce(step, flags=TOKAVG_REDUCE_DONE)
    call ctx%wait(step, TOKAVG_WAIT_COUNT, result, timeout_ms=1000, stat=stat)
    call check(result%done_ranks == result%label_ranks, 'done')
    address = ctx%factor_device(step, stat=stat)
    call check(stat < 0 .and. .not. c_associated(address), 'no factor on a device that is not there')
    call ctx%abort()
    call ctx%progress(stat)
    call check(stat == TOKAVG_ERR_ABORTED, 'aborted')
    call ctx%free()
  end subroutine done_and_abort
end program test_life
