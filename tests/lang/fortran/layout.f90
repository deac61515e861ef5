! SPDX-License-Identifier: Apache-2.0
program layout
  use layout_cases, only: check_all
  use layout_check, only: finish_layout
  implicit none
  call check_all()
  call finish_layout()
end program layout
