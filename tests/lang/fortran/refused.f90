! SPDX-License-Identifier: Apache-2.0
!> What must not compile: outputs into temporaries, and addresses of what need not have one. refused.py takes one of the
!> marked lines at a time.
program refused
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32
  use tokavg
  implicit none
  type(tokavg_context) :: ctx
  integer(int32), target :: labels(4)
  integer(int32) :: plain(4)
  real(real32) :: logits(3, 4), losses(4)
  integer(int64) :: step
  labels = 1
  plain = 1
  logits = 0
  losses = 0
!FINE  call ctx%cross_entropy(1_int64, logits, tokavg_labels(labels), losses=losses)
!OUTPUT  call ctx%cross_entropy(1_int64, logits, tokavg_labels(labels), losses=losses([1, 2, 3, 4]))
!OUTPUT_EXPRESSION  call ctx%scale(1_int64, 2 * losses)
!TEMPORARY  call ctx%count(tokavg_labels(2 * labels))
!PLAIN  call ctx%count(tokavg_labels(plain))
!KIND  call ctx%count(losses)
!LOGICAL  call ctx%reduce(step, flags=.true.)
end program refused
