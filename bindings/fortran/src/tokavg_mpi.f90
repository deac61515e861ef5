! SPDX-License-Identifier: Apache-2.0
!> tokavg with communicators of the module mpi_f08. Those of the module mpi are integers, which tokavg takes too.
module tokavg_mpi
  use, intrinsic :: iso_c_binding, only: c_int32_t
  use mpi_f08, only: MPI_Comm
  use tokavg
  implicit none
  public
  private :: c_int32_t, init_f08, init_f08_config, MPI_Comm

  interface tokavg_init
    module procedure init_f08, init_f08_config
  end interface tokavg_init

contains

  subroutine init_f08(ctx, comm, gradient_reduction, stat, errmsg)
    type(tokavg_context), intent(inout) :: ctx
    type(MPI_Comm), intent(in) :: comm
    integer(c_int32_t), intent(in) :: gradient_reduction
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call tokavg_init(ctx, comm%MPI_VAL, gradient_reduction, stat, errmsg)
  end subroutine init_f08

  subroutine init_f08_config(ctx, comm, config, stat, errmsg)
    type(tokavg_context), intent(inout) :: ctx
    type(MPI_Comm), intent(in) :: comm
    type(tokavg_config_t), intent(in) :: config
    integer(c_int32_t), intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call tokavg_init(ctx, comm%MPI_VAL, config, stat, errmsg)
  end subroutine init_f08_config
end module tokavg_mpi
