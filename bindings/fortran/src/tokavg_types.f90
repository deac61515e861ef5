! SPDX-License-Identifier: Apache-2.0
! Written by bindings/fortran/generate from tests/abi/layout.json; do not edit.
!> Constants and structs of include/tokavg/types.h, which describes them. A fresh struct has the defaults.
module tokavg_types
  use, intrinsic :: iso_c_binding, only: c_double, c_funptr, c_int32_t, c_int64_t, c_null_funptr, c_null_ptr, c_ptr
  implicit none
  private :: c_double, c_funptr, c_int32_t, c_int64_t, c_null_funptr, c_null_ptr, c_ptr

  integer(c_int32_t), parameter :: TOKAVG_COMM_CALLER = 6
  integer(c_int32_t), parameter :: TOKAVG_COMM_MPI = 3
  integer(c_int32_t), parameter :: TOKAVG_COMM_MPI_FORTRAN = 4
  integer(c_int32_t), parameter :: TOKAVG_COMM_NCCL = 5
  integer(c_int32_t), parameter :: TOKAVG_COMM_SELF = 1
  integer(c_int32_t), parameter :: TOKAVG_COMM_THREADS = 2
  integer(c_int32_t), parameter :: TOKAVG_CONFIG_NCCL_OWN = 2
  integer(c_int32_t), parameter :: TOKAVG_CONFIG_NO_ENV = 1
  integer(c_int32_t), parameter :: TOKAVG_DEVICE_AUTO = 0
  integer(c_int32_t), parameter :: TOKAVG_DEVICE_CUDA = 2
  integer(c_int32_t), parameter :: TOKAVG_DEVICE_HOST = 1
  integer(c_int32_t), parameter :: TOKAVG_DIVISOR_TOKENS = 0
  integer(c_int32_t), parameter :: TOKAVG_DIVISOR_WEIGHTS = 1
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_BF16 = 6
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_F16 = 7
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_F32 = 4
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_F64 = 5
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_I32 = 1
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_I64 = 2
  integer(c_int32_t), parameter :: TOKAVG_DTYPE_U8 = 3
  integer(c_int32_t), parameter :: TOKAVG_EMPTY = 2
  integer(c_int32_t), parameter :: TOKAVG_ERR_ABORTED = -12
  integer(c_int32_t), parameter :: TOKAVG_ERR_ARGUMENT = -1
  integer(c_int32_t), parameter :: TOKAVG_ERR_CONFIG = -2
  integer(c_int32_t), parameter :: TOKAVG_ERR_COPIES = -8
  integer(c_int32_t), parameter :: TOKAVG_ERR_DESYNC = -10
  integer(c_int32_t), parameter :: TOKAVG_ERR_DEVICE = -14
  integer(c_int32_t), parameter :: TOKAVG_ERR_HANDLE = -18
  integer(c_int32_t), parameter :: TOKAVG_ERR_INTERNAL = -19
  integer(c_int32_t), parameter :: TOKAVG_ERR_LABEL = -5
  integer(c_int32_t), parameter :: TOKAVG_ERR_MEMORY = -15
  integer(c_int32_t), parameter :: TOKAVG_ERR_NOT_BUILT = -17
  integer(c_int32_t), parameter :: TOKAVG_ERR_OVERFLOW = -7
  integer(c_int32_t), parameter :: TOKAVG_ERR_PEER = -9
  integer(c_int32_t), parameter :: TOKAVG_ERR_STALE = -4
  integer(c_int32_t), parameter :: TOKAVG_ERR_STATE = -3
  integer(c_int32_t), parameter :: TOKAVG_ERR_TIMEOUT = -11
  integer(c_int32_t), parameter :: TOKAVG_ERR_TRANSPORT = -13
  integer(c_int32_t), parameter :: TOKAVG_ERR_UNSUPPORTED = -16
  integer(c_int32_t), parameter :: TOKAVG_ERR_WEIGHT = -6
  integer(c_int32_t), parameter :: TOKAVG_FACTOR_MICROBATCH = 3
  integer(c_int32_t), parameter :: TOKAVG_FACTOR_REPORT = 2
  integer(c_int32_t), parameter :: TOKAVG_FACTOR_SCALE = 1
  integer(c_int32_t), parameter :: TOKAVG_GRADIENT_MEAN = 1
  integer(c_int32_t), parameter :: TOKAVG_GRADIENT_SUM = 2
  integer(c_int32_t), parameter :: TOKAVG_LABELS_SAME_MICROBATCH = 1
  integer(c_int32_t), parameter :: TOKAVG_LOG_DEBUG = 4
  integer(c_int32_t), parameter :: TOKAVG_LOG_ERROR = 1
  integer(c_int32_t), parameter :: TOKAVG_LOG_INFO = 3
  integer(c_int32_t), parameter :: TOKAVG_LOG_WARNING = 2
  integer(c_int32_t), parameter :: TOKAVG_LOSS_MEAN = 3
  integer(c_int32_t), parameter :: TOKAVG_LOSS_SUM = 2
  integer(c_int32_t), parameter :: TOKAVG_LOSS_TOKEN_LOSSES = 1
  integer(c_int32_t), parameter :: TOKAVG_MAX_TERMS = 8
  integer(c_int32_t), parameter :: TOKAVG_MEMORY_AUTO = 0
  integer(c_int32_t), parameter :: TOKAVG_MEMORY_CUDA = 2
  integer(c_int32_t), parameter :: TOKAVG_MEMORY_HOST = 1
  integer(c_int32_t), parameter :: TOKAVG_OK = 0
  integer(c_int64_t), parameter :: TOKAVG_OPEN = -1
  integer(c_int32_t), parameter :: TOKAVG_PENDING = 1
  integer(c_int32_t), parameter :: TOKAVG_PROGRESS_AUTO = 0
  integer(c_int32_t), parameter :: TOKAVG_PROGRESS_CALLER = 2
  integer(c_int32_t), parameter :: TOKAVG_PROGRESS_THREAD = 1
  integer(c_int32_t), parameter :: TOKAVG_REDUCE_DONE = 1
  integer(c_int32_t), parameter :: TOKAVG_REDUCE_STEP_ID = 2
  integer(c_int32_t), parameter :: TOKAVG_RESULT_AUDIT_FAILED = 2
  integer(c_int32_t), parameter :: TOKAVG_RESULT_INVALID_LABEL = 16
  integer(c_int32_t), parameter :: TOKAVG_RESULT_LOSS_READY = 1
  integer(c_int32_t), parameter :: TOKAVG_RESULT_NONFINITE = 8
  integer(c_int32_t), parameter :: TOKAVG_RESULT_UNAUDITED = 4
  integer(c_int32_t), parameter :: TOKAVG_TRANSPORT_AUTO = 0
  integer(c_int32_t), parameter :: TOKAVG_TRANSPORT_CAN_ANY_THREAD = 1
  integer(c_int32_t), parameter :: TOKAVG_TRANSPORT_CAN_PROGRESS = 2
  integer(c_int32_t), parameter :: TOKAVG_TRANSPORT_NCCL = 1
  integer(c_int32_t), parameter :: TOKAVG_TRANSPORT_VERSION = 1
  integer(c_int32_t), parameter :: TOKAVG_WAIT_COUNT = 1
  integer(c_int32_t), parameter :: TOKAVG_WAIT_LOSS = 2

  type, bind(c) :: tokavg_array_t
    type(c_ptr) :: data = c_null_ptr
    integer(c_int32_t) :: dtype = 0
    integer(c_int32_t) :: memory = 0
    integer(c_int64_t) :: row_stride = 0
    integer(c_int64_t) :: col_stride = 0
  end type tokavg_array_t

  type, bind(c) :: tokavg_transport_t
    integer(c_int32_t) :: struct_size = 88
    integer(c_int32_t) :: version = TOKAVG_TRANSPORT_VERSION
    integer(c_int32_t) :: rank = 0
    integer(c_int32_t) :: ranks = 0
    integer(c_int32_t) :: capabilities = 0
    integer(c_int32_t) :: reserved = 0
    type(c_ptr) :: user = c_null_ptr
    type(c_funptr) :: start = c_null_funptr
    type(c_funptr) :: test = c_null_funptr
    type(c_funptr) :: cancel = c_null_funptr
    type(c_funptr) :: late_ranks = c_null_funptr
    type(c_funptr) :: abort = c_null_funptr
    type(c_funptr) :: describe = c_null_funptr
    type(c_funptr) :: close = c_null_funptr
  end type tokavg_transport_t

  type, bind(c) :: tokavg_transport_options_t
    integer(c_int32_t) :: struct_size = 40
    integer(c_int32_t) :: comm_kind = 0
    type(c_ptr) :: comm = c_null_ptr
    integer(c_int32_t) :: comm_fortran = 0
    integer(c_int32_t) :: progress = 0
    integer(c_int64_t) :: timeout_ms = 0
    integer(c_int64_t) :: max_words = 0
  end type tokavg_transport_options_t

  type, bind(c) :: tokavg_config_t
    integer(c_int32_t) :: struct_size = 136
    integer(c_int32_t) :: comm_kind = 0
    type(c_ptr) :: comm = c_null_ptr
    integer(c_int32_t) :: comm_fortran = 0
    integer(c_int32_t) :: comm_rank = 0
    integer(c_int32_t) :: transport = 0
    integer(c_int32_t) :: device = 0
    integer(c_int32_t) :: device_index = -1
    integer(c_int32_t) :: host_threads = 0
    integer(c_int32_t) :: gradient_reduction = 0
    integer(c_int32_t) :: gradient_ranks = 0
    integer(c_int32_t) :: label_copies = 0
    integer(c_int32_t) :: label_copy_index = 0
    integer(c_int32_t) :: asks_only = 0
    integer(c_int32_t) :: microbatch_shards = 0
    real(c_double) :: accumulation_divisor = 0
    integer(c_int64_t) :: ignore_index = -100
    integer(c_int32_t) :: divisor = 0
    integer(c_int32_t) :: terms = 0
    integer(c_int32_t) :: in_flight = 0
    integer(c_int32_t) :: progress = 0
    integer(c_int64_t) :: timeout_ms = 0
    integer(c_int64_t) :: warn_ms = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: reserved = 0
    type(c_funptr) :: log = c_null_funptr
    type(c_ptr) :: log_user = c_null_ptr
  end type tokavg_config_t

  type, bind(c) :: tokavg_labels_t
    integer(c_int32_t) :: struct_size = 136
    integer(c_int32_t) :: flags = 0
    integer(c_int32_t) :: term = 0
    integer(c_int32_t) :: label_base = 1
    integer(c_int64_t) :: shift = 0
    integer(c_int64_t) :: rows = 0
    integer(c_int64_t) :: cols = 0
    type(tokavg_array_t) :: labels
    type(tokavg_array_t) :: mask
    type(tokavg_array_t) :: weights
  end type tokavg_labels_t

  type, bind(c) :: tokavg_loss_t
    integer(c_int32_t) :: struct_size = 112
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: term = 0
    integer(c_int32_t) :: reserved = 0
    integer(c_int64_t) :: rows = 0
    integer(c_int64_t) :: cols = 0
    type(tokavg_array_t) :: losses
    type(c_ptr) :: labels = c_null_ptr
    integer(c_int64_t) :: tokens = 0
    real(c_double) :: loss_scale = 0
    type(c_ptr) :: loss_scale_device = c_null_ptr
    type(c_ptr) :: backward_out = c_null_ptr
    type(c_ptr) :: sum_out = c_null_ptr
  end type tokavg_loss_t

  type, bind(c) :: tokavg_cross_entropy_t
    integer(c_int32_t) :: struct_size = 240
    integer(c_int32_t) :: reserved = 0
    type(tokavg_array_t) :: logits
    integer(c_int64_t) :: vocab = 0
    type(c_ptr) :: labels = c_null_ptr
    real(c_double) :: label_smoothing = 0
    real(c_double) :: z_loss = 0
    real(c_double) :: logit_softcap = 0
    real(c_double) :: loss_scale = 0
    type(c_ptr) :: loss_scale_device = c_null_ptr
    type(tokavg_array_t) :: gradient_out
    type(tokavg_array_t) :: losses_out
    type(tokavg_array_t) :: lse_out
    type(tokavg_array_t) :: argmax_out
    type(c_ptr) :: backward_out = c_null_ptr
    type(c_ptr) :: sum_out = c_null_ptr
  end type tokavg_cross_entropy_t

  type, bind(c) :: tokavg_scale_item_t
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: count = 0
    integer(c_int32_t) :: dtype = 0
    integer(c_int32_t) :: memory = 0
  end type tokavg_scale_item_t

  type, bind(c) :: tokavg_scale_t
    integer(c_int32_t) :: struct_size = 48
    integer(c_int32_t) :: item_size = 24
    type(c_ptr) :: items = c_null_ptr
    integer(c_int64_t) :: n_items = 0
    integer(c_int32_t) :: term = 0
    integer(c_int32_t) :: kind = 0
    real(c_double) :: factor = 0
    type(c_ptr) :: factor_device = c_null_ptr
  end type tokavg_scale_t

  type, bind(c) :: tokavg_reduce_t
    integer(c_int32_t) :: struct_size = 24
    integer(c_int32_t) :: flags = 0
    integer(c_int64_t) :: step_id = 0
    real(c_double) :: accumulation_divisor = 0
  end type tokavg_reduce_t

  type, bind(c) :: tokavg_result_t
    integer(c_int32_t) :: struct_size = 672
    integer(c_int32_t) :: flags = 0
    integer(c_int64_t) :: ticket = 0
    integer(c_int64_t) :: step_id = 0
    integer(c_int64_t) :: tokens(0:TOKAVG_MAX_TERMS - 1) = 0
    integer(c_int64_t) :: local_tokens(0:TOKAVG_MAX_TERMS - 1) = 0
    integer(c_int64_t) :: loss_tokens(0:TOKAVG_MAX_TERMS - 1) = 0
    integer(c_int64_t) :: nonfinite(0:TOKAVG_MAX_TERMS - 1) = 0
    integer(c_int64_t) :: invalid_labels(0:TOKAVG_MAX_TERMS - 1) = 0
    real(c_double) :: weight_sum(0:TOKAVG_MAX_TERMS - 1) = 0
    real(c_double) :: loss_sum(0:TOKAVG_MAX_TERMS - 1) = 0
    real(c_double) :: factor(0:TOKAVG_MAX_TERMS - 1) = 0
    real(c_double) :: mean_loss(0:TOKAVG_MAX_TERMS - 1) = 0
    integer(c_int64_t) :: microbatches = 0
    integer(c_int64_t) :: audit_ticket = 0
    integer(c_int64_t) :: audit_counted = 0
    integer(c_int64_t) :: audit_recorded = 0
    integer(c_int32_t) :: ranks = 0
    integer(c_int32_t) :: label_ranks = 0
    integer(c_int32_t) :: empty_ranks = 0
    integer(c_int32_t) :: done_ranks = 0
    integer(c_int32_t) :: failed_ranks = 0
    integer(c_int32_t) :: first_failed_rank = 0
    real(c_double) :: exposed_seconds = 0
    real(c_double) :: reduce_seconds = 0
  end type tokavg_result_t
end module tokavg_types
