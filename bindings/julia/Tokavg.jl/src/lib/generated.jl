# SPDX-License-Identifier: Apache-2.0
# Written by bindings/julia/generate from tests/abi/layout.json and the public headers: change those, not this file.

const TOKAVG_COMM_CALLER = Int32(6)
const TOKAVG_COMM_MPI = Int32(3)
const TOKAVG_COMM_MPI_FORTRAN = Int32(4)
const TOKAVG_COMM_NCCL = Int32(5)
const TOKAVG_COMM_SELF = Int32(1)
const TOKAVG_COMM_THREADS = Int32(2)
const TOKAVG_CONFIG_NCCL_OWN = Int32(2)
const TOKAVG_CONFIG_NO_ENV = Int32(1)
const TOKAVG_DEVICE_AUTO = Int32(0)
const TOKAVG_DEVICE_CUDA = Int32(2)
const TOKAVG_DEVICE_HOST = Int32(1)
const TOKAVG_DIVISOR_TOKENS = Int32(0)
const TOKAVG_DIVISOR_WEIGHTS = Int32(1)
const TOKAVG_DTYPE_BF16 = Int32(6)
const TOKAVG_DTYPE_F16 = Int32(7)
const TOKAVG_DTYPE_F32 = Int32(4)
const TOKAVG_DTYPE_F64 = Int32(5)
const TOKAVG_DTYPE_I32 = Int32(1)
const TOKAVG_DTYPE_I64 = Int32(2)
const TOKAVG_DTYPE_U8 = Int32(3)
const TOKAVG_EMPTY = Int32(2)
const TOKAVG_ERR_ABORTED = Int32(-12)
const TOKAVG_ERR_ARGUMENT = Int32(-1)
const TOKAVG_ERR_CONFIG = Int32(-2)
const TOKAVG_ERR_COPIES = Int32(-8)
const TOKAVG_ERR_DESYNC = Int32(-10)
const TOKAVG_ERR_DEVICE = Int32(-14)
const TOKAVG_ERR_HANDLE = Int32(-18)
const TOKAVG_ERR_INTERNAL = Int32(-19)
const TOKAVG_ERR_LABEL = Int32(-5)
const TOKAVG_ERR_MEMORY = Int32(-15)
const TOKAVG_ERR_NOT_BUILT = Int32(-17)
const TOKAVG_ERR_OVERFLOW = Int32(-7)
const TOKAVG_ERR_PEER = Int32(-9)
const TOKAVG_ERR_STALE = Int32(-4)
const TOKAVG_ERR_STATE = Int32(-3)
const TOKAVG_ERR_TIMEOUT = Int32(-11)
const TOKAVG_ERR_TRANSPORT = Int32(-13)
const TOKAVG_ERR_UNSUPPORTED = Int32(-16)
const TOKAVG_ERR_WEIGHT = Int32(-6)
const TOKAVG_FACTOR_MICROBATCH = Int32(3)
const TOKAVG_FACTOR_REPORT = Int32(2)
const TOKAVG_FACTOR_SCALE = Int32(1)
const TOKAVG_GRADIENT_MEAN = Int32(1)
const TOKAVG_GRADIENT_SUM = Int32(2)
const TOKAVG_LABELS_SAME_MICROBATCH = Int32(1)
const TOKAVG_LOG_DEBUG = Int32(4)
const TOKAVG_LOG_ERROR = Int32(1)
const TOKAVG_LOG_INFO = Int32(3)
const TOKAVG_LOG_WARNING = Int32(2)
const TOKAVG_LOSS_MEAN = Int32(3)
const TOKAVG_LOSS_SUM = Int32(2)
const TOKAVG_LOSS_TOKEN_LOSSES = Int32(1)
const TOKAVG_MAX_TERMS = Int32(8)
const TOKAVG_MEMORY_AUTO = Int32(0)
const TOKAVG_MEMORY_CUDA = Int32(2)
const TOKAVG_MEMORY_HOST = Int32(1)
const TOKAVG_OK = Int32(0)
const TOKAVG_OPEN = Int32(-1)
const TOKAVG_PENDING = Int32(1)
const TOKAVG_PROGRESS_AUTO = Int32(0)
const TOKAVG_PROGRESS_CALLER = Int32(2)
const TOKAVG_PROGRESS_THREAD = Int32(1)
const TOKAVG_REDUCE_DONE = Int32(1)
const TOKAVG_REDUCE_STEP_ID = Int32(2)
const TOKAVG_RESULT_AUDIT_FAILED = Int32(2)
const TOKAVG_RESULT_INVALID_LABEL = Int32(16)
const TOKAVG_RESULT_LOSS_READY = Int32(1)
const TOKAVG_RESULT_NONFINITE = Int32(8)
const TOKAVG_RESULT_UNAUDITED = Int32(4)
const TOKAVG_TRANSPORT_AUTO = Int32(0)
const TOKAVG_TRANSPORT_CAN_ANY_THREAD = Int32(1)
const TOKAVG_TRANSPORT_CAN_PROGRESS = Int32(2)
const TOKAVG_TRANSPORT_NCCL = Int32(1)
const TOKAVG_TRANSPORT_VERSION = Int32(1)
const TOKAVG_WAIT_COUNT = Int32(1)
const TOKAVG_WAIT_LOSS = Int32(2)

const ZEROS = ntuple(_ -> 0, 8)

struct tokavg_array_t
    data::Ptr{Cvoid}   # at 0
    dtype::Int32       # at 8
    memory::Int32      # at 12
    row_stride::Int64  # at 16
    col_stride::Int64  # at 24
    tokavg_array_t() = new(C_NULL, 0, 0, 0, 0)
    tokavg_array_t(data, dtype, memory, row_stride, col_stride) = new(data, dtype, memory, row_stride, col_stride)
end

mutable struct tokavg_config_t
    struct_size::UInt32            # at 0
    comm_kind::Int32               # at 4
    comm::Ptr{Cvoid}               # at 8
    comm_fortran::Int32            # at 16
    comm_rank::Int32               # at 20
    transport::Int32               # at 24
    device::Int32                  # at 28
    device_index::Int32            # at 32
    host_threads::Int32            # at 36
    gradient_reduction::Int32      # at 40
    gradient_ranks::Int32          # at 44
    label_copies::Int32            # at 48
    label_copy_index::Int32        # at 52
    asks_only::Int32               # at 56
    microbatch_shards::Int32       # at 60
    accumulation_divisor::Float64  # at 64
    ignore_index::Int64            # at 72
    divisor::Int32                 # at 80
    terms::Int32                   # at 84
    in_flight::Int32               # at 88
    progress::Int32                # at 92
    timeout_ms::Int64              # at 96
    warn_ms::Int64                 # at 104
    flags::UInt32                  # at 112
    reserved::Int32                # at 116
    log::Ptr{Cvoid}                # at 120
    log_user::Ptr{Cvoid}           # at 128
    tokavg_config_t() = new(136, 0, C_NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, C_NULL, C_NULL)
end

mutable struct tokavg_labels_t
    struct_size::UInt32      # at 0
    flags::UInt32            # at 4
    term::Int32              # at 8
    label_base::Int32        # at 12
    shift::Int64             # at 16
    rows::Int64              # at 24
    cols::Int64              # at 32
    labels::tokavg_array_t   # at 40
    mask::tokavg_array_t     # at 72
    weights::tokavg_array_t  # at 104
    tokavg_labels_t() = new(136, 0, 0, 0, 0, 0, 0, tokavg_array_t(), tokavg_array_t(), tokavg_array_t())
end

mutable struct tokavg_loss_t
    struct_size::UInt32              # at 0
    kind::Int32                      # at 4
    term::Int32                      # at 8
    reserved::Int32                  # at 12
    rows::Int64                      # at 16
    cols::Int64                      # at 24
    losses::tokavg_array_t           # at 32
    labels::Ptr{tokavg_labels_t}     # at 64
    tokens::Int64                    # at 72
    loss_scale::Float64              # at 80
    loss_scale_device::Ptr{Float32}  # at 88
    backward_out::Ptr{Cvoid}         # at 96
    sum_out::Ptr{Float64}            # at 104
    tokavg_loss_t() = new(112, 0, 0, 0, 0, 0, tokavg_array_t(), C_NULL, 0, 0, C_NULL, C_NULL, C_NULL)
end

mutable struct tokavg_cross_entropy_t
    struct_size::UInt32              # at 0
    reserved::UInt32                 # at 4
    logits::tokavg_array_t           # at 8
    vocab::Int64                     # at 40
    labels::Ptr{tokavg_labels_t}     # at 48
    label_smoothing::Float64         # at 56
    z_loss::Float64                  # at 64
    logit_softcap::Float64           # at 72
    loss_scale::Float64              # at 80
    loss_scale_device::Ptr{Float32}  # at 88
    gradient_out::tokavg_array_t     # at 96
    losses_out::tokavg_array_t       # at 128
    lse_out::tokavg_array_t          # at 160
    argmax_out::tokavg_array_t       # at 192
    backward_out::Ptr{Cvoid}         # at 224
    sum_out::Ptr{Float64}            # at 232
    tokavg_cross_entropy_t() = new(240, 0, tokavg_array_t(), 0, C_NULL, 0, 0, 0, 0, C_NULL, tokavg_array_t(), tokavg_array_t(), tokavg_array_t(), tokavg_array_t(), C_NULL, C_NULL)
end

struct tokavg_scale_item_t
    data::Ptr{Cvoid}  # at 0
    count::Int64      # at 8
    dtype::Int32      # at 16
    memory::Int32     # at 20
    tokavg_scale_item_t() = new(C_NULL, 0, 0, 0)
    tokavg_scale_item_t(data, count, dtype, memory) = new(data, count, dtype, memory)
end

mutable struct tokavg_scale_t
    struct_size::UInt32              # at 0
    item_size::UInt32                # at 4
    items::Ptr{tokavg_scale_item_t}  # at 8
    n_items::Int64                   # at 16
    term::Int32                      # at 24
    kind::Int32                      # at 28
    factor::Float64                  # at 32
    factor_device::Ptr{Float32}      # at 40
    tokavg_scale_t() = new(48, 0, C_NULL, 0, 0, 0, 0, C_NULL)
end

mutable struct tokavg_reduce_t
    struct_size::UInt32            # at 0
    flags::UInt32                  # at 4
    step_id::Int64                 # at 8
    accumulation_divisor::Float64  # at 16
    tokavg_reduce_t() = new(24, 0, 0, 0)
end

mutable struct tokavg_result_t
    struct_size::UInt32              # at 0
    flags::UInt32                    # at 4
    ticket::Int64                    # at 8
    step_id::Int64                   # at 16
    tokens::NTuple{8,Int64}          # at 24
    local_tokens::NTuple{8,Int64}    # at 88
    loss_tokens::NTuple{8,Int64}     # at 152
    nonfinite::NTuple{8,Int64}       # at 216
    invalid_labels::NTuple{8,Int64}  # at 280
    weight_sum::NTuple{8,Float64}    # at 344
    loss_sum::NTuple{8,Float64}      # at 408
    factor::NTuple{8,Float64}        # at 472
    mean_loss::NTuple{8,Float64}     # at 536
    microbatches::Int64              # at 600
    audit_ticket::Int64              # at 608
    audit_counted::Int64             # at 616
    audit_recorded::Int64            # at 624
    ranks::Int32                     # at 632
    label_ranks::Int32               # at 636
    empty_ranks::Int32               # at 640
    done_ranks::Int32                # at 644
    failed_ranks::Int32              # at 648
    first_failed_rank::Int32         # at 652
    exposed_seconds::Float64         # at 656
    reduce_seconds::Float64          # at 664
    tokavg_result_t() = new(672, 0, 0, 0, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, ZEROS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
end

mutable struct tokavg_transport_t
    struct_size::UInt32     # at 0
    version::UInt32         # at 4
    rank::Int32             # at 8
    ranks::Int32            # at 12
    capabilities::UInt32    # at 16
    reserved::UInt32        # at 20
    user::Ptr{Cvoid}        # at 24
    start::Ptr{Cvoid}       # at 32
    test::Ptr{Cvoid}        # at 40
    cancel::Ptr{Cvoid}      # at 48
    late_ranks::Ptr{Cvoid}  # at 56
    abort::Ptr{Cvoid}       # at 64
    describe::Ptr{Cvoid}    # at 72
    close::Ptr{Cvoid}       # at 80
    tokavg_transport_t() = new(88, 0, 0, 0, 0, 0, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL, C_NULL)
end

mutable struct tokavg_transport_options_t
    struct_size::UInt32  # at 0
    comm_kind::Int32     # at 4
    comm::Ptr{Cvoid}     # at 8
    comm_fortran::Int32  # at 16
    progress::Int32      # at 20
    timeout_ms::Int64    # at 24
    max_words::Int64     # at 32
    tokavg_transport_options_t() = new(40, 0, C_NULL, 0, 0, 0, 0)
end

const ENTRY_tokavg_version = Entry("tokavg_version")
function tokavg_version()
    entry_point = find(ENTRY_tokavg_version)
    return ccall(entry_point, Ptr{UInt8}, ())
end

const ENTRY_tokavg_abi_version = Entry("tokavg_abi_version")
function tokavg_abi_version()
    entry_point = find(ENTRY_tokavg_abi_version)
    return ccall(entry_point, Int32, ())
end

const ENTRY_tokavg_status_name = Entry("tokavg_status_name")
function tokavg_status_name(status::Int32)
    entry_point = find(ENTRY_tokavg_status_name)
    return ccall(entry_point, Ptr{UInt8}, (Int32,), status)
end

const ENTRY_tokavg_describe = Entry("tokavg_describe")
function tokavg_describe(ctx::Ptr, text::Ptr, capacity::Int64, needed_out::Ptr)
    entry_point = find(ENTRY_tokavg_describe)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Int64, Ptr{Int64}), ctx, text, capacity, needed_out)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_config_init = Entry("tokavg_config_init")
function tokavg_config_init(config::Ptr, struct_size::UInt32)
    entry_point = find(ENTRY_tokavg_config_init)
    return ccall(entry_point, Int32, (Ptr{tokavg_config_t}, UInt32), config, struct_size)
end

const ENTRY_tokavg_init = Entry("tokavg_init")
function tokavg_init(config::Ptr, ctx_out::Ptr)
    entry_point = find(ENTRY_tokavg_init)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{tokavg_config_t}, Ptr{Ptr{Cvoid}}), config, ctx_out)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_finalize = Entry("tokavg_finalize")
function tokavg_finalize(ctx::Ptr)
    entry_point = find(ENTRY_tokavg_finalize)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid},), ctx)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_free = Entry("tokavg_free")
function tokavg_free(ctx::Ptr)
    entry_point = find(ENTRY_tokavg_free)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid},), ctx)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_abort = Entry("tokavg_abort")
function tokavg_abort(ctx::Ptr)
    entry_point = find(ENTRY_tokavg_abort)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid},), ctx)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_threads_create = Entry("tokavg_threads_create")
function tokavg_threads_create(ranks::Int32, group_out::Ptr)
    entry_point = find(ENTRY_tokavg_threads_create)
    return ccall(entry_point, Int32, (Int32, Ptr{Ptr{Cvoid}}), ranks, group_out)
end

const ENTRY_tokavg_threads_free = Entry("tokavg_threads_free")
function tokavg_threads_free(group::Ptr)
    entry_point = find(ENTRY_tokavg_threads_free)
    return ccall(entry_point, Int32, (Ptr{Cvoid},), group)
end

const ENTRY_tokavg_count = Entry("tokavg_count")
function tokavg_count(ctx::Ptr, labels::Ptr, stream::Ptr)
    entry_point = find(ENTRY_tokavg_count)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Ptr{tokavg_labels_t}, Ptr{Cvoid}), ctx, labels, stream)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_count_add = Entry("tokavg_count_add")
function tokavg_count_add(ctx::Ptr, term::Int32, tokens::Int64, weight_sum::Float64, microbatches::Int64)
    entry_point = find(ENTRY_tokavg_count_add)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int32, Int64, Float64, Int64), ctx, term, tokens, weight_sum, microbatches)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_discard = Entry("tokavg_discard")
function tokavg_discard(ctx::Ptr)
    entry_point = find(ENTRY_tokavg_discard)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid},), ctx)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_reduce = Entry("tokavg_reduce")
function tokavg_reduce(ctx::Ptr, options::Ptr, stream::Ptr, ticket_out::Ptr)
    entry_point = find(ENTRY_tokavg_reduce)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Ptr{tokavg_reduce_t}, Ptr{Cvoid}, Ptr{Int64}), ctx, options, stream, ticket_out)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_flush = Entry("tokavg_flush")
function tokavg_flush(ctx::Ptr, stream::Ptr)
    entry_point = find(ENTRY_tokavg_flush)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Ptr{Cvoid}), ctx, stream)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_progress = Entry("tokavg_progress")
function tokavg_progress(ctx::Ptr)
    entry_point = find(ENTRY_tokavg_progress)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid},), ctx)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_wait = Entry("tokavg_wait")
function tokavg_wait(ctx::Ptr, ticket::Int64, what::Int32, timeout_ms::Int64, result_out::Ptr)
    entry_point = find(ENTRY_tokavg_wait)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64, Int32, Int64, Ptr{tokavg_result_t}), ctx, ticket, what, timeout_ms, result_out)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_factor = Entry("tokavg_factor")
function tokavg_factor(ctx::Ptr, ticket::Int64, term::Int32, kind::Int32, factor_out::Ptr)
    entry_point = find(ENTRY_tokavg_factor)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64, Int32, Int32, Ptr{Float64}), ctx, ticket, term, kind, factor_out)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_factor_device = Entry("tokavg_factor_device")
function tokavg_factor_device(ctx::Ptr, ticket::Int64, term::Int32, kind::Int32, stream::Ptr, factor_out::Ptr)
    entry_point = find(ENTRY_tokavg_factor_device)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64, Int32, Int32, Ptr{Cvoid}, Ptr{Ptr{Float32}}), ctx, ticket, term, kind, stream, factor_out)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_loss = Entry("tokavg_loss")
function tokavg_loss(ctx::Ptr, ticket::Int64, loss::Ptr, stream::Ptr)
    entry_point = find(ENTRY_tokavg_loss)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64, Ptr{tokavg_loss_t}, Ptr{Cvoid}), ctx, ticket, loss, stream)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_cross_entropy = Entry("tokavg_cross_entropy")
function tokavg_cross_entropy(ctx::Ptr, ticket::Int64, ce::Ptr, stream::Ptr)
    entry_point = find(ENTRY_tokavg_cross_entropy)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64, Ptr{tokavg_cross_entropy_t}, Ptr{Cvoid}), ctx, ticket, ce, stream)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_scale = Entry("tokavg_scale")
function tokavg_scale(ctx::Ptr, ticket::Int64, scale::Ptr, stream::Ptr)
    entry_point = find(ENTRY_tokavg_scale)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64, Ptr{tokavg_scale_t}, Ptr{Cvoid}), ctx, ticket, scale, stream)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_release = Entry("tokavg_release")
function tokavg_release(ctx::Ptr, ticket::Int64)
    entry_point = find(ENTRY_tokavg_release)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Int64), ctx, ticket)
    hold_gc(gc_state)
    return status
end

const ENTRY_tokavg_last_error = Entry("tokavg_last_error")
function tokavg_last_error(ctx::Ptr, text::Ptr, capacity::Int64, needed_out::Ptr)
    entry_point = find(ENTRY_tokavg_last_error)
    gc_state = let_gc_run()
    status = ccall(entry_point, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Int64, Ptr{Int64}), ctx, text, capacity, needed_out)
    hold_gc(gc_state)
    return status
end

const ENTRIES = (
    ENTRY_tokavg_version,
    ENTRY_tokavg_abi_version,
    ENTRY_tokavg_status_name,
    ENTRY_tokavg_describe,
    ENTRY_tokavg_config_init,
    ENTRY_tokavg_init,
    ENTRY_tokavg_finalize,
    ENTRY_tokavg_free,
    ENTRY_tokavg_abort,
    ENTRY_tokavg_threads_create,
    ENTRY_tokavg_threads_free,
    ENTRY_tokavg_count,
    ENTRY_tokavg_count_add,
    ENTRY_tokavg_discard,
    ENTRY_tokavg_reduce,
    ENTRY_tokavg_flush,
    ENTRY_tokavg_progress,
    ENTRY_tokavg_wait,
    ENTRY_tokavg_factor,
    ENTRY_tokavg_factor_device,
    ENTRY_tokavg_loss,
    ENTRY_tokavg_cross_entropy,
    ENTRY_tokavg_scale,
    ENTRY_tokavg_release,
    ENTRY_tokavg_last_error,
)

const STRUCTS = (
    tokavg_array_t,
    tokavg_config_t,
    tokavg_labels_t,
    tokavg_loss_t,
    tokavg_cross_entropy_t,
    tokavg_scale_item_t,
    tokavg_scale_t,
    tokavg_reduce_t,
    tokavg_result_t,
    tokavg_transport_t,
    tokavg_transport_options_t,
)
