! SPDX-License-Identifier: Apache-2.0
!> The whole tokavg_context, how it is made, and groups of threads.
module tokavg_contexts
  use, intrinsic :: iso_c_binding
  use tokavg_c, only: c_init, c_threads_create, c_threads_free
  use tokavg_errors, only: settle
  use tokavg_scaling, only: tokavg_scaler
  use tokavg_types
  implicit none
  private
  public :: tokavg_context, tokavg_init, tokavg_threads

  !> One data group. It has no FINAL: finalize is collective, and free ends it on this rank.
  type, extends(tokavg_scaler) :: tokavg_context
  end type tokavg_context

  !> Ranks that are threads of this process: config%comm = group%handle, config%comm_rank = the thread's.
  type :: tokavg_threads
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create
    procedure :: free
  end type tokavg_threads

  !> tokavg_init(ctx, config): any kind of communicator, as config says.
  !> tokavg_init(ctx, comm, gradient_reduction) or (ctx, comm, config): an MPI communicator, here an integer. The
  !> module tokavg_mpi adds type(MPI_Comm).
  interface tokavg_init
    module procedure init_config, init_comm, init_comm_config
  end interface tokavg_init

contains

  subroutine init_config(ctx, config, stat, errmsg)
    type(tokavg_context), intent(inout) :: ctx
    type(tokavg_config_t), intent(in), target :: config
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    ! No context yet: the text of a failure is the thread's.
    call settle(c_init(c_loc(config), ctx%handle), c_null_ptr, 'tokavg_init', stat, errmsg)
  end subroutine init_config

  subroutine init_comm(ctx, comm, gradient_reduction, stat, errmsg)
    type(tokavg_context), intent(inout) :: ctx
    integer, intent(in) :: comm
    integer(c_int32_t), intent(in) :: gradient_reduction
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call init_comm_config(ctx, comm, tokavg_config_t(gradient_reduction=gradient_reduction), stat, errmsg)
  end subroutine init_comm

  subroutine init_comm_config(ctx, comm, config, stat, errmsg)
    type(tokavg_context), intent(inout) :: ctx
    integer, intent(in) :: comm
    type(tokavg_config_t), intent(in) :: config
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(tokavg_config_t) :: with_comm
    with_comm = config
    with_comm%comm_kind = TOKAVG_COMM_MPI_FORTRAN
    with_comm%comm_fortran = comm
    call init_config(ctx, with_comm, stat, errmsg)
  end subroutine init_comm_config

  subroutine create(self, ranks, stat, errmsg)
    class(tokavg_threads), intent(inout) :: self
    integer(c_int32_t), intent(in) :: ranks
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call settle(c_threads_create(ranks, self%handle), c_null_ptr, 'create', stat, errmsg)
  end subroutine create

  !> Contexts made from the group stay valid.
  subroutine free(self, stat, errmsg)
    class(tokavg_threads), intent(inout) :: self
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handle
    handle = self%handle
    self%handle = c_null_ptr
    call settle(c_threads_free(handle), c_null_ptr, 'free', stat, errmsg)
  end subroutine free
end module tokavg_contexts
