/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file types.h
 * @brief Handles, constants and structs of the C interface.
 *
 * Every struct except ::tokavg_array_t (frozen) begins with `struct_size`: set it to sizeof the struct and
 * zero the rest. Zero is then each field's default, unless its description says "0 is refused".
 * The structs have no implicit padding; fields called `reserved` must be zero. A struct may grow at its end
 * in later versions: an older caller's shorter struct stays valid, and a longer one from a newer caller is
 * accepted as long as the part that this library does not know is zero (else ::TOKAVG_ERR_UNSUPPORTED).
 */
#ifndef TOKAVG_TYPES_H
#define TOKAVG_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "status.h"

/** One data group: its ranks, its open step and the steps in flight. Made by tokavg_init(). */
typedef struct tokavg_context tokavg_context_t;

/** A group of ranks that are threads of this process. Made by tokavg_threads_create(). */
typedef struct tokavg_threads tokavg_threads_t;

/** Names a reduced step: 1, 2, 3, ... in the order of tokavg_reduce(). 0 is no ticket and is refused. */
typedef int64_t tokavg_ticket_t;

/**
 * A CUDA stream (the value of a cudaStream_t), or NULL. NULL means host data, or the legacy default stream.
 * Host arrays ignore it.
 */
typedef void *tokavg_stream_t;

/**
 * Receives log lines of level WARNING and above, or what TOKAVG_LOG says. Called only inside tokavg calls, on the
 * calling thread. It must not throw and must not call tokavg on the context that it comes from.
 * @param user config.log_user
 * @param level one of the TOKAVG_LOG_ constants
 * @param text one line without a line feed; valid until the callback returns
 */
typedef void (*tokavg_log_callback_t)(void *user, int32_t level, const char *text);

/** Limits and special values. */
enum {
  /** The step that is open, in place of a ticket: losses recorded on it have factor 1. */
  TOKAVG_OPEN = -1,
  /** The largest number of terms of a context; the length of the per-term arrays of a result. */
  TOKAVG_MAX_TERMS = 8
};

/** Element types of ::tokavg_array_t. 0 is unset. */
enum {
  TOKAVG_DTYPE_I32 = 1,  /**< int32_t */
  TOKAVG_DTYPE_I64 = 2,  /**< int64_t */
  TOKAVG_DTYPE_U8 = 3,   /**< uint8_t */
  TOKAVG_DTYPE_F32 = 4,  /**< IEEE binary32 */
  TOKAVG_DTYPE_F64 = 5,  /**< IEEE binary64 */
  TOKAVG_DTYPE_BF16 = 6, /**< bfloat16: the upper half of a binary32 */
  TOKAVG_DTYPE_F16 = 7   /**< IEEE binary16 */
};

/** Where an array lives. */
enum {
  TOKAVG_MEMORY_AUTO = 0, /**< the library asks the CUDA driver where there is one, else host */
  TOKAVG_MEMORY_HOST = 1, /**< ordinary memory */
  TOKAVG_MEMORY_CUDA = 2  /**< memory of the context's GPU */
};

/** How the ranks of a context reach one another. 0 is unset and refused. */
enum {
  TOKAVG_COMM_SELF = 1,        /**< one rank: this one */
  TOKAVG_COMM_THREADS = 2,     /**< comm is a tokavg_threads_t*, comm_rank this thread's rank */
  TOKAVG_COMM_MPI = 3,         /**< comm is the *address* of an MPI_Comm */
  TOKAVG_COMM_MPI_FORTRAN = 4, /**< comm_fortran is an integer communicator */
  TOKAVG_COMM_NCCL = 5,        /**< comm is an ncclComm_t */
  TOKAVG_COMM_CALLER = 6       /**< comm is a const tokavg_transport_t* (transport_plugin.h) */
};

/** What carries the sums. */
enum {
  TOKAVG_TRANSPORT_AUTO = 0, /**< what comm_kind implies */
  TOKAVG_TRANSPORT_NCCL = 1  /**< NCCL, bootstrapped over MPI */
};

/** Where labels and losses live. */
enum {
  TOKAVG_DEVICE_AUTO = 0, /**< CUDA where a GPU is usable and the transport allows it, else the host */
  TOKAVG_DEVICE_HOST = 1, /**< host only */
  TOKAVG_DEVICE_CUDA = 2  /**< CUDA, or tokavg_init() fails */
};

/** What the trainer's own reduction does with gradients over its ranks. 0 is unset and refused. */
enum {
  TOKAVG_GRADIENT_MEAN = 1, /**< averages them (DDP, FSDP): f = G * A / Z */
  TOKAVG_GRADIENT_SUM = 2   /**< sums them: f = A / Z */
};

/** What Z is. */
enum {
  TOKAVG_DIVISOR_TOKENS = 0, /**< the number of scored tokens */
  TOKAVG_DIVISOR_WEIGHTS = 1 /**< the sum of their weights */
};

/** Who moves messages on while the application computes. */
enum {
  TOKAVG_PROGRESS_AUTO = 0,   /**< a thread where MPI allows it (MPI_THREAD_MULTIPLE), else the caller */
  TOKAVG_PROGRESS_THREAD = 1, /**< a thread, or tokavg_init() fails */
  TOKAVG_PROGRESS_CALLER = 2  /**< the calls of the application: see tokavg_progress() */
};

/** Flags of ::tokavg_config_t. */
enum {
  TOKAVG_CONFIG_NO_ENV = 1,  /**< ignore the TOKAVG_ environment variables */
  TOKAVG_CONFIG_NCCL_OWN = 2 /**< split the lent ncclComm_t instead of using it */
};

/** Levels of the log callback, most severe first. */
enum {
  TOKAVG_LOG_ERROR = 1,   /**< the context has failed */
  TOKAVG_LOG_WARNING = 2, /**< something is late or doubtful */
  TOKAVG_LOG_INFO = 3,    /**< decisions taken once */
  TOKAVG_LOG_DEBUG = 4    /**< each step */
};

/** Flags of ::tokavg_labels_t. */
enum {
  /** These labels belong to the microbatch already begun (a further term, or a further part of it). */
  TOKAVG_LABELS_SAME_MICROBATCH = 1
};

/** What a ::tokavg_loss_t holds. 0 is unset and refused. */
enum {
  TOKAVG_LOSS_TOKEN_LOSSES = 1, /**< one loss per label */
  TOKAVG_LOSS_SUM = 2,          /**< one value: the sum over `tokens` tokens */
  TOKAVG_LOSS_MEAN = 3          /**< one value: the mean over `tokens` tokens; refused with divisor weights */
};

/** Flags of ::tokavg_reduce_t. */
enum {
  TOKAVG_REDUCE_DONE = 1,   /**< this rank has no data after this step, for good */
  TOKAVG_REDUCE_STEP_ID = 2 /**< step_id is set: ranks whose step_id differs are found in this step */
};

/** Flags of ::tokavg_result_t. */
enum {
  TOKAVG_RESULT_LOSS_READY = 1,    /**< every counted token's loss is in loss_sum and mean_loss */
  TOKAVG_RESULT_AUDIT_FAILED = 2,  /**< a step's losses held other tokens than were counted: see audit_ticket */
  TOKAVG_RESULT_UNAUDITED = 4,     /**< some losses did not say how many tokens they hold (tokens = -1) */
  TOKAVG_RESULT_NONFINITE = 8,     /**< some losses were NaN, infinite or beyond 2^22 */
  TOKAVG_RESULT_INVALID_LABEL = 16 /**< some labels were outside the vocabulary (found on a device) */
};

/** What tokavg_wait() waits for. */
enum {
  TOKAVG_WAIT_COUNT = 1, /**< the counts, and so the factors */
  TOKAVG_WAIT_LOSS = 2   /**< also the losses of all ranks */
};

/** Which factor. Z is the divisor, G the gradient ranks, A the accumulation divisor, M the microbatches. */
enum {
  TOKAVG_FACTOR_SCALE = 1,     /**< f: G * A / Z (mean) or A / Z (sum); 0 where Z = 0 */
  TOKAVG_FACTOR_REPORT = 2,    /**< 1 / Z; 0 where Z = 0 */
  TOKAVG_FACTOR_MICROBATCH = 3 /**< batch-level terms: G * A * shards / M (mean) or A * shards / M (sum) */
};

/**
 * An array of the caller's: 1, 2 or 3 dimensions as the struct that holds it says. This struct is frozen.
 *
 * Element (r, c) is at data + r * row_stride + c * col_stride, in elements. A stride of 0 is the contiguous
 * one: col_stride 1 (for logits: vocab) and row_stride cols * col_stride. Strides may be negative. Addresses are
 * aligned to the element type.
 */
typedef struct tokavg_array_t {
  void *data;         /**< first element; NULL means "no array" where that is allowed */
  int32_t dtype;      /**< one of the TOKAVG_DTYPE_ constants; 0 is refused where data is not NULL */
  int32_t memory;     /**< one of the TOKAVG_MEMORY_ constants */
  int64_t row_stride; /**< elements from one row to the next; 0: contiguous */
  int64_t col_stride; /**< elements from one column to the next; 0: contiguous */
} tokavg_array_t;

/**
 * What a context is. Call tokavg_config_init(), then set at least comm_kind and gradient_reduction.
 *
 * All ranks must agree on everything but comm, comm_fortran, comm_rank, device_index, host_threads,
 * label_copy_index, asks_only, progress, timeout_ms, warn_ms, flags and log; tokavg_init() checks it on every
 * rank and names the field that differs.
 */
typedef struct tokavg_config_t {
  uint32_t struct_size;       /**< sizeof(tokavg_config_t) */
  int32_t comm_kind;          /**< one of the TOKAVG_COMM_ constants; 0 is refused */
  const void *comm;           /**< see the TOKAVG_COMM_ constants; see tokavg_init() for how long it must live */
  int32_t comm_fortran;       /**< the integer communicator of COMM_MPI_FORTRAN */
  int32_t comm_rank;          /**< COMM_THREADS: this thread's rank, 0 to ranks - 1 */
  int32_t transport;          /**< one of the TOKAVG_TRANSPORT_ constants */
  int32_t device;             /**< one of the TOKAVG_DEVICE_ constants */
  int32_t device_index;       /**< CUDA device; -1 (config_init): the current one at init */
  int32_t host_threads;       /**< threads for cross entropy and scaling on the host, 1 to 1024; 0: 1. No result depends
                                   on it */
  int32_t gradient_reduction; /**< one of the TOKAVG_GRADIENT_ constants; 0 is refused */
  int32_t gradient_ranks;     /**< G, the ranks the trainer averages over; 0: label ranks / label_copies */
  int32_t label_copies;       /**< ranks that hold the same labels (tensor parallel); 0: 1 */
  int32_t label_copy_index;   /**< which copy this rank is, 0 to label_copies - 1; only 0 contributes */
  int32_t asks_only;          /**< 1: this rank holds no labels and only needs the results */
  int32_t microbatch_shards;  /**< ranks that hold parts of one microbatch (context parallel); 0: 1 */
  double accumulation_divisor; /**< A, by which the trainer divides for accumulation; 0: 1 */
  int64_t ignore_index;        /**< the label that is not scored; config_init writes -100; 0 is a value */
  int32_t divisor;             /**< one of the TOKAVG_DIVISOR_ constants */
  int32_t terms;               /**< number of terms, 1 to TOKAVG_MAX_TERMS; 0: 1 */
  int32_t in_flight;           /**< reduced steps that stay readable, 2 to 16; 0: 4 */
  int32_t progress;            /**< one of the TOKAVG_PROGRESS_ constants */
  int64_t timeout_ms;          /**< deadline of every wait, 1 to 2^31-1; 0: 300000 */
  int64_t warn_ms;             /**< a log line after so long a wait, 1 to 2^31-1; 0: 60000 */
  uint32_t flags;              /**< TOKAVG_CONFIG_ flags */
  int32_t reserved;            /**< 0 */
  tokavg_log_callback_t log;   /**< receives log lines; NULL: none */
  void *log_user;              /**< handed to log */
} tokavg_config_t;

/**
 * The labels of one term of one microbatch, or of a part of it.
 *
 * A token (r, c) is scored when labels[r][c] != ignore_index, c >= shift, and mask[r][c] != 0 (if there is a
 * mask). rows and cols are those of `labels`, `mask` and `weights` alike.
 */
typedef struct tokavg_labels_t {
  uint32_t struct_size;   /**< sizeof(tokavg_labels_t) */
  uint32_t flags;         /**< TOKAVG_LABELS_ flags */
  int32_t term;           /**< 0 to config.terms - 1 */
  int32_t label_base;     /**< 0, or 1 for one-based classes; read by tokavg_cross_entropy() alone */
  int64_t shift;          /**< leading columns of each row that are not scored, >= 0; 1 for causal models */
  int64_t rows;           /**< >= 0 */
  int64_t cols;           /**< >= 0 */
  tokavg_array_t labels;  /**< I32 or I64; data may be NULL only where rows * cols = 0 */
  tokavg_array_t mask;    /**< U8, or data NULL: all ones */
  tokavg_array_t weights; /**< F32 or F64, or data NULL: all ones. |w| < 2^22; >= 0 where weights divide */
} tokavg_labels_t;

/** Losses that the caller has computed. */
typedef struct tokavg_loss_t {
  uint32_t struct_size;           /**< sizeof(tokavg_loss_t) */
  int32_t kind;                   /**< one of the TOKAVG_LOSS_ constants; 0 is refused */
  int32_t term;                   /**< 0 to config.terms - 1; equal to labels->term where labels are given */
  int32_t reserved;               /**< 0 */
  int64_t rows;                   /**< TOKEN_LOSSES: rows of losses, and of labels; else ignored */
  int64_t cols;                   /**< TOKEN_LOSSES: columns of losses, and of labels; else ignored */
  tokavg_array_t losses;          /**< F32 or F64: rows x cols, losses[r][c] for label (r, c); or one value */
  const tokavg_labels_t *labels;  /**< TOKEN_LOSSES: selects and weights; NULL: every element counts with weight
                                       1. SUM and MEAN: NULL */
  int64_t tokens;                 /**< SUM, MEAN: how many tokens the value holds; -1: those counted here and not
                                       yet recorded; 0: the value is not read. TOKEN_LOSSES: ignored */
  double loss_scale;              /**< multiplies backward_out (AMP); finite; 0: 1 */
  const float *loss_scale_device; /**< one float in device memory, multiplies too; NULL for host losses */
  void *backward_out;             /**< NULL, or one value of the losses' type, in their memory: S * f * loss_scale,
                                       S being the (weighted) sum of this call's losses */
  double *sum_out;                /**< NULL, or one double in the losses' memory: S */
} tokavg_loss_t;

/**
 * Fused cross entropy: losses from logits, and their gradient, already normalised.
 *
 * With x = logits, or x = softcap * tanh(logits / softcap), lse = log(sum_k exp(x_k)), y the class and
 * e = label_smoothing: l = (1 - e) * (lse - x_y) + e * (lse - mean_k x_k) + z_loss * lse^2.
 *
 * labels give rows and cols: the logits hold rows * cols rows of `vocab` values, logits row (r, c) at
 * r * row_stride + c * col_stride. Label (r, c) belongs to logits row (r, c - shift); the last `shift` logits
 * rows of each row are not read and get gradient 0.
 *
 * A NaN logit, or a largest logit that is infinite, makes the loss and the gradient of its row NaN; a logit of -inf is
 * a class of probability 0 (with label smoothing its row's loss is infinite). With a softcap infinities are the
 * ordinary values -softcap and softcap. argmax is over the logits before the softcap; a NaN is never the largest.
 */
typedef struct tokavg_cross_entropy_t {
  uint32_t struct_size;           /**< sizeof(tokavg_cross_entropy_t) */
  uint32_t reserved;              /**< 0 */
  tokavg_array_t logits;          /**< F32, BF16 or F16; the vocabulary is contiguous */
  int64_t vocab;                  /**< classes, >= 1 */
  const tokavg_labels_t *labels;  /**< not NULL; scored labels are label_base to label_base + vocab - 1 */
  double label_smoothing;         /**< e, 0 <= e <= 1 */
  double z_loss;                  /**< >= 0, finite */
  double logit_softcap;           /**< > 0, finite; 0: none */
  double loss_scale;              /**< multiplies gradient_out and backward_out; finite; 0: 1 */
  const float *loss_scale_device; /**< one float in device memory, multiplies too; NULL for host logits */
  tokavg_array_t gradient_out;    /**< data NULL, or the logits' type and shape (strides may differ); may be the
                                       logits themselves with the same strides; otherwise it must not overlap
                                       them. d(S * f * loss_scale) / d(logit) */
  tokavg_array_t losses_out;      /**< data NULL, or F32, the labels' shape: l of label (r, c); 0 where not scored */
  tokavg_array_t lse_out;         /**< data NULL, or F32, rows x cols: per logits row; 0 where not read */
  tokavg_array_t argmax_out;      /**< data NULL, or I32, rows x cols: the first class (from label_base) with the
                                       largest logit, per logits row; -1 where not read */
  void *backward_out;             /**< NULL, or one float in the logits' memory: S * f * loss_scale */
  double *sum_out;                /**< NULL, or one double in the logits' memory: S */
} tokavg_cross_entropy_t;

/** One contiguous array to scale in place. */
typedef struct tokavg_scale_item_t {
  void *data;     /**< first element; NULL only where count = 0 */
  int64_t count;  /**< elements, >= 0 */
  int32_t dtype;  /**< F32, F64, BF16 or F16 */
  int32_t memory; /**< one of the TOKAVG_MEMORY_ constants */
} tokavg_scale_item_t;

/** Arrays to multiply by a factor, for instance all gradients of a model. */
typedef struct tokavg_scale_t {
  uint32_t struct_size;             /**< sizeof(tokavg_scale_t) */
  uint32_t item_size;               /**< sizeof(tokavg_scale_item_t) */
  const tokavg_scale_item_t *items; /**< n_items items, item_size bytes apart; NULL only where n_items = 0 */
  int64_t n_items;                  /**< >= 0 */
  int32_t term;                     /**< 0 to config.terms - 1 */
  int32_t kind;                     /**< one of the TOKAVG_FACTOR_ constants; 0 is refused */
  double factor;                    /**< a further factor; finite; 0: 1 */
  const float *factor_device;       /**< one float in device memory, multiplies too; NULL for host arrays */
} tokavg_scale_t;

/** Options of tokavg_reduce(). */
typedef struct tokavg_reduce_t {
  uint32_t struct_size;        /**< sizeof(tokavg_reduce_t) */
  uint32_t flags;              /**< TOKAVG_REDUCE_ flags */
  int64_t step_id;             /**< the caller's step number, checked over ranks; read with REDUCE_STEP_ID */
  double accumulation_divisor; /**< A of this step, finite, > 0, the same on all ranks; 0: the config's */
} tokavg_reduce_t;

/**
 * What a step holds, over all ranks unless the name says local. Per-term arrays hold config.terms values, the
 * rest is zero. Copies (label_copy_index > 0) and ranks that only ask add nothing to any sum.
 */
typedef struct tokavg_result_t {
  uint32_t struct_size;                     /**< sizeof(tokavg_result_t) */
  uint32_t flags;                           /**< TOKAVG_RESULT_ flags */
  int64_t ticket;                           /**< the ticket */
  int64_t step_id;                          /**< the step_id given to tokavg_reduce(), else 0 */
  int64_t tokens[TOKAVG_MAX_TERMS];         /**< N: scored tokens */
  int64_t local_tokens[TOKAVG_MAX_TERMS];   /**< n: this rank's */
  int64_t loss_tokens[TOKAVG_MAX_TERMS];    /**< tokens in the losses received so far */
  int64_t nonfinite[TOKAVG_MAX_TERMS];      /**< losses that were NaN, infinite or beyond 2^22 */
  int64_t invalid_labels[TOKAVG_MAX_TERMS]; /**< labels outside the vocabulary, found on a device */
  double weight_sum[TOKAVG_MAX_TERMS];      /**< C: sum of weights; N where no weights were given */
  double loss_sum[TOKAVG_MAX_TERMS];        /**< S: sum of (weighted) losses received so far */
  double factor[TOKAVG_MAX_TERMS];          /**< f, kind TOKAVG_FACTOR_SCALE */
  double mean_loss[TOKAVG_MAX_TERMS];       /**< S / Z; +0.0 where Z = 0; final with RESULT_LOSS_READY */
  int64_t microbatches;                     /**< M */
  int64_t audit_ticket;      /**< with RESULT_AUDIT_FAILED: the ticket whose losses do not fit its counts, else 0 */
  int64_t audit_counted;     /**< tokens that were counted on audit_ticket */
  int64_t audit_recorded;    /**< tokens in its losses */
  int32_t ranks;             /**< ranks of the context */
  int32_t label_ranks;       /**< those that hold labels (not asks_only), copies included */
  int32_t empty_ranks;       /**< label ranks with no scored token in any term */
  int32_t done_ranks;        /**< label ranks that said REDUCE_DONE, now or before */
  int32_t failed_ranks;      /**< ranks that failed in this step */
  int32_t first_failed_rank; /**< the failed rank when it is one; -1: none, or not known */
  double exposed_seconds;    /**< time that calls of this rank spent waiting for the step */
  double reduce_seconds;     /**< from tokavg_reduce() until the sum was seen complete */
} tokavg_result_t;

#endif
