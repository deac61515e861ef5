! SPDX-License-Identifier: Apache-2.0
!> Token averaging for data-parallel training: the whole of the library but for MPI's own types (module tokavg_mpi).
!> docs/languages/fortran.md shows a step; include/tokavg/tokavg.h is the manual.
module tokavg
  use tokavg_c, only: tokavg_abi_version => c_abi_version, tokavg_log_callback
  use tokavg_contexts, only: tokavg_context, tokavg_init, tokavg_threads
  use tokavg_errors, only: tokavg_describe, tokavg_last_error, tokavg_status_name, tokavg_text, tokavg_version
  use tokavg_label_sets, only: tokavg_labels
  use tokavg_scaling, only: tokavg_scale_item
  use tokavg_types
  implicit none
  public
end module tokavg
