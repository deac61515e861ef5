! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from tests/abi/layout.json; do not edit.
!> Every size and offset, as this compiler lays the types out, for the comparison with C.
module layout_cases
  use, intrinsic :: iso_c_binding
  use tokavg_types
  use layout_check, only: expect
  implicit none
contains
  subroutine check_tokavg_array_t()
    type(tokavg_array_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_array_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_array_t.data', start, c_loc(x%data))
    call expect('tokavg_array_t.dtype', start, c_loc(x%dtype))
    call expect('tokavg_array_t.memory', start, c_loc(x%memory))
    call expect('tokavg_array_t.row_stride', start, c_loc(x%row_stride))
    call expect('tokavg_array_t.col_stride', start, c_loc(x%col_stride))
  end subroutine check_tokavg_array_t

  subroutine check_tokavg_transport_t()
    type(tokavg_transport_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_transport_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_transport_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_transport_t.version', start, c_loc(x%version))
    call expect('tokavg_transport_t.rank', start, c_loc(x%rank))
    call expect('tokavg_transport_t.ranks', start, c_loc(x%ranks))
    call expect('tokavg_transport_t.capabilities', start, c_loc(x%capabilities))
    call expect('tokavg_transport_t.reserved', start, c_loc(x%reserved))
    call expect('tokavg_transport_t.user', start, c_loc(x%user))
    call expect('tokavg_transport_t.start', start, c_loc(x%start))
    call expect('tokavg_transport_t.test', start, c_loc(x%test))
    call expect('tokavg_transport_t.cancel', start, c_loc(x%cancel))
    call expect('tokavg_transport_t.late_ranks', start, c_loc(x%late_ranks))
    call expect('tokavg_transport_t.abort', start, c_loc(x%abort))
    call expect('tokavg_transport_t.describe', start, c_loc(x%describe))
    call expect('tokavg_transport_t.close', start, c_loc(x%close))
  end subroutine check_tokavg_transport_t

  subroutine check_tokavg_transport_options_t()
    type(tokavg_transport_options_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_transport_options_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_transport_options_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_transport_options_t.comm_kind', start, c_loc(x%comm_kind))
    call expect('tokavg_transport_options_t.comm', start, c_loc(x%comm))
    call expect('tokavg_transport_options_t.comm_fortran', start, c_loc(x%comm_fortran))
    call expect('tokavg_transport_options_t.progress', start, c_loc(x%progress))
    call expect('tokavg_transport_options_t.timeout_ms', start, c_loc(x%timeout_ms))
    call expect('tokavg_transport_options_t.max_words', start, c_loc(x%max_words))
  end subroutine check_tokavg_transport_options_t

  subroutine check_tokavg_config_t()
    type(tokavg_config_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_config_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_config_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_config_t.comm_kind', start, c_loc(x%comm_kind))
    call expect('tokavg_config_t.comm', start, c_loc(x%comm))
    call expect('tokavg_config_t.comm_fortran', start, c_loc(x%comm_fortran))
    call expect('tokavg_config_t.comm_rank', start, c_loc(x%comm_rank))
    call expect('tokavg_config_t.transport', start, c_loc(x%transport))
    call expect('tokavg_config_t.device', start, c_loc(x%device))
    call expect('tokavg_config_t.device_index', start, c_loc(x%device_index))
    call expect('tokavg_config_t.host_threads', start, c_loc(x%host_threads))
    call expect('tokavg_config_t.gradient_reduction', start, c_loc(x%gradient_reduction))
    call expect('tokavg_config_t.gradient_ranks', start, c_loc(x%gradient_ranks))
    call expect('tokavg_config_t.label_copies', start, c_loc(x%label_copies))
    call expect('tokavg_config_t.label_copy_index', start, c_loc(x%label_copy_index))
    call expect('tokavg_config_t.asks_only', start, c_loc(x%asks_only))
    call expect('tokavg_config_t.microbatch_shards', start, c_loc(x%microbatch_shards))
    call expect('tokavg_config_t.accumulation_divisor', start, c_loc(x%accumulation_divisor))
    call expect('tokavg_config_t.ignore_index', start, c_loc(x%ignore_index))
    call expect('tokavg_config_t.divisor', start, c_loc(x%divisor))
    call expect('tokavg_config_t.terms', start, c_loc(x%terms))
    call expect('tokavg_config_t.in_flight', start, c_loc(x%in_flight))
    call expect('tokavg_config_t.progress', start, c_loc(x%progress))
    call expect('tokavg_config_t.timeout_ms', start, c_loc(x%timeout_ms))
    call expect('tokavg_config_t.warn_ms', start, c_loc(x%warn_ms))
    call expect('tokavg_config_t.flags', start, c_loc(x%flags))
    call expect('tokavg_config_t.reserved', start, c_loc(x%reserved))
    call expect('tokavg_config_t.log', start, c_loc(x%log))
    call expect('tokavg_config_t.log_user', start, c_loc(x%log_user))
  end subroutine check_tokavg_config_t

  subroutine check_tokavg_labels_t()
    type(tokavg_labels_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_labels_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_labels_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_labels_t.flags', start, c_loc(x%flags))
    call expect('tokavg_labels_t.term', start, c_loc(x%term))
    call expect('tokavg_labels_t.label_base', start, c_loc(x%label_base))
    call expect('tokavg_labels_t.shift', start, c_loc(x%shift))
    call expect('tokavg_labels_t.rows', start, c_loc(x%rows))
    call expect('tokavg_labels_t.cols', start, c_loc(x%cols))
    call expect('tokavg_labels_t.labels', start, c_loc(x%labels))
    call expect('tokavg_labels_t.mask', start, c_loc(x%mask))
    call expect('tokavg_labels_t.weights', start, c_loc(x%weights))
  end subroutine check_tokavg_labels_t

  subroutine check_tokavg_loss_t()
    type(tokavg_loss_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_loss_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_loss_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_loss_t.kind', start, c_loc(x%kind))
    call expect('tokavg_loss_t.term', start, c_loc(x%term))
    call expect('tokavg_loss_t.reserved', start, c_loc(x%reserved))
    call expect('tokavg_loss_t.rows', start, c_loc(x%rows))
    call expect('tokavg_loss_t.cols', start, c_loc(x%cols))
    call expect('tokavg_loss_t.losses', start, c_loc(x%losses))
    call expect('tokavg_loss_t.labels', start, c_loc(x%labels))
    call expect('tokavg_loss_t.tokens', start, c_loc(x%tokens))
    call expect('tokavg_loss_t.loss_scale', start, c_loc(x%loss_scale))
    call expect('tokavg_loss_t.loss_scale_device', start, c_loc(x%loss_scale_device))
    call expect('tokavg_loss_t.backward_out', start, c_loc(x%backward_out))
    call expect('tokavg_loss_t.sum_out', start, c_loc(x%sum_out))
  end subroutine check_tokavg_loss_t

  subroutine check_tokavg_cross_entropy_t()
    type(tokavg_cross_entropy_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_cross_entropy_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_cross_entropy_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_cross_entropy_t.reserved', start, c_loc(x%reserved))
    call expect('tokavg_cross_entropy_t.logits', start, c_loc(x%logits))
    call expect('tokavg_cross_entropy_t.vocab', start, c_loc(x%vocab))
    call expect('tokavg_cross_entropy_t.labels', start, c_loc(x%labels))
    call expect('tokavg_cross_entropy_t.label_smoothing', start, c_loc(x%label_smoothing))
    call expect('tokavg_cross_entropy_t.z_loss', start, c_loc(x%z_loss))
    call expect('tokavg_cross_entropy_t.logit_softcap', start, c_loc(x%logit_softcap))
    call expect('tokavg_cross_entropy_t.loss_scale', start, c_loc(x%loss_scale))
    call expect('tokavg_cross_entropy_t.loss_scale_device', start, c_loc(x%loss_scale_device))
    call expect('tokavg_cross_entropy_t.gradient_out', start, c_loc(x%gradient_out))
    call expect('tokavg_cross_entropy_t.losses_out', start, c_loc(x%losses_out))
    call expect('tokavg_cross_entropy_t.lse_out', start, c_loc(x%lse_out))
    call expect('tokavg_cross_entropy_t.argmax_out', start, c_loc(x%argmax_out))
    call expect('tokavg_cross_entropy_t.backward_out', start, c_loc(x%backward_out))
    call expect('tokavg_cross_entropy_t.sum_out', start, c_loc(x%sum_out))
  end subroutine check_tokavg_cross_entropy_t

  subroutine check_tokavg_scale_item_t()
    type(tokavg_scale_item_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_scale_item_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_scale_item_t.data', start, c_loc(x%data))
    call expect('tokavg_scale_item_t.count', start, c_loc(x%count))
    call expect('tokavg_scale_item_t.dtype', start, c_loc(x%dtype))
    call expect('tokavg_scale_item_t.memory', start, c_loc(x%memory))
  end subroutine check_tokavg_scale_item_t

  subroutine check_tokavg_scale_t()
    type(tokavg_scale_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_scale_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_scale_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_scale_t.item_size', start, c_loc(x%item_size))
    call expect('tokavg_scale_t.items', start, c_loc(x%items))
    call expect('tokavg_scale_t.n_items', start, c_loc(x%n_items))
    call expect('tokavg_scale_t.term', start, c_loc(x%term))
    call expect('tokavg_scale_t.kind', start, c_loc(x%kind))
    call expect('tokavg_scale_t.factor', start, c_loc(x%factor))
    call expect('tokavg_scale_t.factor_device', start, c_loc(x%factor_device))
  end subroutine check_tokavg_scale_t

  subroutine check_tokavg_reduce_t()
    type(tokavg_reduce_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_reduce_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_reduce_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_reduce_t.flags', start, c_loc(x%flags))
    call expect('tokavg_reduce_t.step_id', start, c_loc(x%step_id))
    call expect('tokavg_reduce_t.accumulation_divisor', start, c_loc(x%accumulation_divisor))
  end subroutine check_tokavg_reduce_t

  subroutine check_tokavg_result_t()
    type(tokavg_result_t), target :: x
    type(c_ptr) :: start
    start = c_loc(x)
    call expect('tokavg_result_t', int(c_sizeof(x), c_int64_t))
    call expect('tokavg_result_t.struct_size', start, c_loc(x%struct_size))
    call expect('tokavg_result_t.flags', start, c_loc(x%flags))
    call expect('tokavg_result_t.ticket', start, c_loc(x%ticket))
    call expect('tokavg_result_t.step_id', start, c_loc(x%step_id))
    call expect('tokavg_result_t.tokens', start, c_loc(x%tokens))
    call expect('tokavg_result_t.local_tokens', start, c_loc(x%local_tokens))
    call expect('tokavg_result_t.loss_tokens', start, c_loc(x%loss_tokens))
    call expect('tokavg_result_t.nonfinite', start, c_loc(x%nonfinite))
    call expect('tokavg_result_t.invalid_labels', start, c_loc(x%invalid_labels))
    call expect('tokavg_result_t.weight_sum', start, c_loc(x%weight_sum))
    call expect('tokavg_result_t.loss_sum', start, c_loc(x%loss_sum))
    call expect('tokavg_result_t.factor', start, c_loc(x%factor))
    call expect('tokavg_result_t.mean_loss', start, c_loc(x%mean_loss))
    call expect('tokavg_result_t.microbatches', start, c_loc(x%microbatches))
    call expect('tokavg_result_t.audit_ticket', start, c_loc(x%audit_ticket))
    call expect('tokavg_result_t.audit_counted', start, c_loc(x%audit_counted))
    call expect('tokavg_result_t.audit_recorded', start, c_loc(x%audit_recorded))
    call expect('tokavg_result_t.ranks', start, c_loc(x%ranks))
    call expect('tokavg_result_t.label_ranks', start, c_loc(x%label_ranks))
    call expect('tokavg_result_t.empty_ranks', start, c_loc(x%empty_ranks))
    call expect('tokavg_result_t.done_ranks', start, c_loc(x%done_ranks))
    call expect('tokavg_result_t.failed_ranks', start, c_loc(x%failed_ranks))
    call expect('tokavg_result_t.first_failed_rank', start, c_loc(x%first_failed_rank))
    call expect('tokavg_result_t.exposed_seconds', start, c_loc(x%exposed_seconds))
    call expect('tokavg_result_t.reduce_seconds', start, c_loc(x%reduce_seconds))
  end subroutine check_tokavg_result_t

  subroutine check_all()
    call check_tokavg_array_t()
    call check_tokavg_transport_t()
    call check_tokavg_transport_options_t()
    call check_tokavg_config_t()
    call check_tokavg_labels_t()
    call check_tokavg_loss_t()
    call check_tokavg_cross_entropy_t()
    call check_tokavg_scale_item_t()
    call check_tokavg_scale_t()
    call check_tokavg_reduce_t()
    call check_tokavg_result_t()
  end subroutine check_all
end module layout_cases
