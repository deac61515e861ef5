/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tokavg.h
 * @brief The C interface of tokavg: token averaging for data-parallel training.
 *
 * Data-parallel training equals training on one processor only if every token weighs the same: the loss must be
 * divided by the number of scored tokens of the *whole* optimiser step,
 *
 *     N = sum over ranks, accumulation steps and microbatches of (label != ignore_index).
 *
 * tokavg counts N, sums it over the ranks while the forward pass runs, and normalises the loss (before backward)
 * or the gradients (after their reduction) with it.
 *
 * ### The life of one step
 * Scaling before backward, for a trainer whose own reduction averages gradients:
 *
 *     for (m = 0; m < accumulation; m++) { load(m); tokavg_count(ctx, &labels[m], NULL); }
 *     tokavg_reduce(ctx, NULL, NULL, &step);              // returns at once
 *     for (m = 0; m < accumulation; m++) {
 *         forward(m, logits);                             // the counts are summed meanwhile
 *         tokavg_cross_entropy(ctx, step, &ce[m], NULL);  // losses and dlogits, already normalised
 *         backward(m);
 *     }
 *     all_reduce_mean(gradients); optimizer_step();
 *
 * Scaling after backward needs no look-ahead: tokavg_count() each microbatch as it streams in, record its loss on
 * TOKAVG_OPEN (factor 1), tokavg_reduce() after the last forward pass, tokavg_scale() on the reduced gradients.
 *
 * ### The contract
 * Tokens t of microbatch m on rank r have a label, a loss l and a weight w (default 1). A token is scored (v = 1)
 * when its label is not ignore_index, its column is >= shift and its mask is not 0. Tokens with v = 0 are never read.
 *
 *     n = sum v    c = sum v*w    S = sum v*w*l          per rank and microbatch
 *     N, C, S, M   sums of n, c, S and of microbatches over all ranks (copies of labels add nothing)
 *     Z            N, or C with divisor weights
 *     f            G * A / Z when the trainer averages gradients over G ranks, A / Z when it sums them
 *     mean loss    S / Z, the same bits on every rank and for every partition of the same tokens
 *
 * Counts are exact 64-bit integers. Weights and losses are summed in 128-bit fixed point with a unit of 2^-72, so
 * that no sum depends on the order of its parts.
 *
 * ### Uneven data
 * Ranks may run out of data at different times. A rank says TOKAVG_REDUCE_DONE with its last step and goes on calling
 * tokavg_reduce() without counting; from its first DONE on it waits for each ticket before the next reduce, and every
 * rank stops when all are done. Ranks that only ask (asks_only) wait so from the first step on.
 *
 *     do {
 *       options.flags = has_data ? 0 : TOKAVG_REDUCE_DONE;
 *       tokavg_reduce(ctx, &options, NULL, &step);
 *       ... forward and backward, if there is data ...
 *       if (!has_data) tokavg_wait(ctx, step, TOKAVG_WAIT_COUNT, -1, &result);
 *     } while (has_data || result.done_ranks < result.label_ranks);
 *
 * ### Rules for every function
 * - **Threads**: one thread at a time per context, except tokavg_abort(); different contexts are independent.
 * - **Collective** functions are called by all ranks of the context in the same order. A rank that failed locally
 *   still calls them: that is how the others learn of it.
 * - **Outputs** are written only on success, except the result of tokavg_wait() and the ticket of tokavg_reduce().
 * - **Ownership**: host memory is read before the call returns, device memory in stream order; the library holds
 *   nothing else of the caller's.
 * - **Deadline**: config.timeout_ms. Its clock starts when something first waits for a step or asks after it, never
 *   at tokavg_reduce(): a long forward pass is healthy. When it passes, every waiting rank gets
 *   TOKAVG_ERR_TIMEOUT and the same list of ranks that did not arrive.
 * - **Every function** can also return TOKAVG_ERR_HANDLE (the context is NULL, freed or foreign), the sticky error of
 *   a failed context (see status.h), TOKAVG_ERR_STATE (finalized, or in a child process after fork),
 *   TOKAVG_ERR_MEMORY, TOKAVG_ERR_INTERNAL and, where it is given GPU memory or a device pointer and the library was
 *   built without CUDA, TOKAVG_ERR_NOT_BUILT. These are not repeated below.
 * - **GPUs**: with config.device CUDA, arrays may be GPU memory. Such calls enqueue their work on `stream` and return;
 * the calls of a context run in the order in which they are made, whatever their streams. They may be captured into a
 *   CUDA graph (docs/cuda.md). All arrays of a call lie in one memory.
 * - **Errors** come with a text: tokavg_last_error().
 * - **Environment**: tokavg_init() reads TOKAVG_TIMEOUT_MS, TOKAVG_WARN_MS, TOKAVG_PROGRESS (auto, thread, caller),
 *   TOKAVG_TRANSPORT (auto, nccl), TOKAVG_IN_FLIGHT, TOKAVG_HOST_THREADS, TOKAVG_SIMD (auto, avx512, avx2, neon,
 *   portable: the vector instructions of the host's kernels, which all give the same bits), TOKAVG_PLUGIN_PATH (a
 *   folder searched first for MPI plugins), TOKAVG_NCCL_PATH and TOKAVG_LOG (off, error, warning, info, debug). They
 *   override what operates the library, never what the numbers mean; tokavg_describe() shows them. They are ignored
 * with TOKAVG_CONFIG_NO_ENV and in setuid processes.
 */
#ifndef TOKAVG_H
#define TOKAVG_H

#include "export.h"
#include "status.h"
#include "types.h"
#include "version.h"

/** @name Version */
/** @{ */

/**
 * @brief The version of the library, for instance "1.0.0".
 * @return a static text
 * @threadsafety any thread
 * @since 1.0
 */
TOKAVG_API const char *tokavg_version(void) TOKAVG_NOEXCEPT;

/**
 * @brief The version of the binary interface; compare with TOKAVG_ABI_VERSION of the header.
 * @return 1
 * @threadsafety any thread
 * @since 1.0
 */
TOKAVG_API int32_t tokavg_abi_version(void) TOKAVG_NOEXCEPT;

/**
 * @brief The name of a status, for instance "TOKAVG_ERR_TIMEOUT".
 * @param status any value
 * @return a static text; "TOKAVG_UNKNOWN_STATUS" for values this version does not know
 * @threadsafety any thread
 * @since 1.0
 */
TOKAVG_API const char *tokavg_status_name(tokavg_status_t status) TOKAVG_NOEXCEPT;

/**
 * @brief Describes the library, or a context, as one JSON object: version, build, devices, transports, MPI, effective
 *        configuration, settings overridden by the environment, number of steps and of steps without an audit.
 * @param ctx a context, or NULL: the library alone
 * @param text receives a zero-terminated text, cut to fit; NULL only where capacity is 0
 * @param capacity bytes of text, >= 0
 * @param needed_out receives the bytes that the whole text needs, its zero included; may be NULL
 * @retval TOKAVG_OK written, perhaps cut: compare needed_out with capacity
 * @retval TOKAVG_ERR_ARGUMENT text is NULL with a capacity, or capacity is negative
 * @threadsafety the context's thread; with NULL any thread
 * @ownership copies the text out
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_describe(tokavg_context_t *ctx, char *text, int64_t capacity,
                                           int64_t *needed_out) TOKAVG_NOEXCEPT;

/** @} */
/** @name Life */
/** @{ */

/**
 * @brief Fills a configuration with the defaults: zero, device_index -1, ignore_index -100.
 * @param config receives struct_size bytes; not NULL
 * @param struct_size sizeof(tokavg_config_t) as the caller knows it; at least that of version 1.0
 * @retval TOKAVG_OK written
 * @retval TOKAVG_ERR_ARGUMENT config is NULL or struct_size is too small
 * @threadsafety any thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_config_init(tokavg_config_t *config, uint32_t struct_size) TOKAVG_NOEXCEPT;

/**
 * @brief Makes a context. All ranks agree on the configuration first; when they do not, or one of them fails, all
 *        of them fail, with a text that names the field or the rank.
 *
 * The library works on its own duplicate of an MPI communicator, never calls MPI_Init or MPI_Finalize, and needs no
 * particular thread level. Contexts on the same communicator or thread group are made in the same order on all ranks.
 *
 * @param config the configuration; not NULL
 * @param ctx_out receives the context; not NULL
 * @retval TOKAVG_OK made
 * @retval TOKAVG_ERR_ARGUMENT a pointer is NULL or a struct_size is wrong (at once: the others time out)
 * @retval TOKAVG_ERR_CONFIG a field is out of range, or differs between ranks
 * @retval TOKAVG_ERR_NOT_BUILT the library lacks CUDA, NCCL or a plugin for this MPI; the text names the build option
 * @retval TOKAVG_ERR_UNSUPPORTED a combination that this version cannot serve, or unknown bytes in a struct
 * @retval TOKAVG_ERR_PEER another rank's configuration is wrong
 * @retval TOKAVG_ERR_TIMEOUT not all ranks came within timeout_ms; ranks that come just then may succeed, and learn of
 * it in their first wait
 * @retval TOKAVG_ERR_TRANSPORT the ranks cannot be reached
 * @collective
 * @blocking until all ranks have called it, at most timeout_ms
 * @threadsafety any thread; the context then belongs to one thread at a time
 * @ownership config, and what it points to, is read during the call. An ncclComm_t and what the `user` of a caller's
 *            table points to must live as long as the context; a thread group and an MPI communicator need not
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_init(const tokavg_config_t *config, tokavg_context_t **ctx_out) TOKAVG_NOEXCEPT;

/**
 * @brief Ends a context together: waits for the steps in flight and sends losses that have not been sent.
 *
 * Afterwards tokavg_wait() and tokavg_factor() on kept tickets, tokavg_describe() and tokavg_last_error() still answer
 * until tokavg_free(); every other call is TOKAVG_ERR_STATE.
 *
 * @param ctx the context
 * @retval TOKAVG_OK ended
 * @retval TOKAVG_ERR_PEER a rank reports a failure that no step has reported yet
 * @retval TOKAVG_ERR_WEIGHT a weight in losses on a GPU was bad, on some rank, and no step has reported it yet
 * @retval TOKAVG_ERR_TIMEOUT not all ranks came within timeout_ms
 * @collective
 * @blocking until all ranks have called it, at most timeout_ms
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_finalize(tokavg_context_t *ctx) TOKAVG_NOEXCEPT;

/**
 * @brief Frees a context on this rank alone. Never blocks and never talks to other ranks; legal at any time: after
 *        or without tokavg_finalize(), after MPI_Finalize, after a failure, in a child process. Over MPI the duplicate
 *        of the communicator is freed by the next tokavg_init() or at MPI_Finalize; with a sum in flight always at
 *        MPI_Finalize, since messages for it may still come.
 * @param ctx the context, or NULL: nothing happens
 * @retval TOKAVG_OK freed
 * @retval TOKAVG_ERR_HANDLE it was freed before, or never was a context
 * @threadsafety any thread, when no other call is inside the context
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_free(tokavg_context_t *ctx) TOKAVG_NOEXCEPT;

/**
 * @brief Fails the context: every call that waits, here and (as far as they can be told) on the other ranks, returns
 *        TOKAVG_ERR_ABORTED.
 * @param ctx the context
 * @retval TOKAVG_OK the context has failed now
 * @threadsafety any thread, also while another is inside the context
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_abort(tokavg_context_t *ctx) TOKAVG_NOEXCEPT;

/**
 * @brief Makes a group of ranks that are threads of this process, for TOKAVG_COMM_THREADS.
 * @param ranks number of ranks, 1 to 65536
 * @param group_out receives the group; not NULL
 * @retval TOKAVG_OK made
 * @retval TOKAVG_ERR_ARGUMENT ranks is out of range, or group_out is NULL
 * @threadsafety any thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_threads_create(int32_t ranks, tokavg_threads_t **group_out) TOKAVG_NOEXCEPT;

/**
 * @brief Frees a group of threads. Contexts made from it stay valid.
 * @param group the group, or NULL: nothing happens
 * @retval TOKAVG_OK freed
 * @retval TOKAVG_ERR_HANDLE it was freed before, or never was a group
 * @threadsafety any thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_threads_free(tokavg_threads_t *group) TOKAVG_NOEXCEPT;

/** @} */
/** @name Step */
/** @{ */

/**
 * @brief Counts the scored tokens of labels into the open step; begins a microbatch unless the labels carry
 *        TOKAVG_LABELS_SAME_MICROBATCH.
 * @param ctx the context
 * @param labels what to count; losses and gradients of these tokens must be recorded with the same mask
 * @param stream CUDA labels: read in its order; host labels: ignored
 * @retval TOKAVG_OK counted
 * @retval TOKAVG_ERR_ARGUMENT labels is NULL, or a field is out of range (negative or overflowing shape, unknown dtype)
 * @retval TOKAVG_ERR_STATE this rank only asks, said it is done, or has not begun the microbatch
 * @retval TOKAVG_ERR_WEIGHT a scored weight is not finite, too large, or negative where weights divide
 * @retval TOKAVG_ERR_OVERFLOW this rank's tokens reach 2^63, or its microbatches 2^32
 * @retval TOKAVG_ERR_UNSUPPORTED unknown bytes in a struct, or CUDA memory on a host context
 * @threadsafety the context's thread
 * @stream ordered after earlier work on stream
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_count(tokavg_context_t *ctx, const tokavg_labels_t *labels,
                                        tokavg_stream_t stream) TOKAVG_NOEXCEPT;

/**
 * @brief Adds counts that the caller knows already, for instance from a data loader.
 * @param ctx the context
 * @param term 0 to config.terms - 1
 * @param tokens n, >= 0
 * @param weight_sum c; 0: tokens (no weights; a sum that really is 0 can only be given by tokavg_count()).
 *        |c| <= 2^54; >= 0 where weights divide; 0 where tokens is 0
 * @param microbatches begun with it, 0 to 2^32 - 1; 0: it belongs to the microbatch already begun
 * @retval TOKAVG_OK added
 * @retval TOKAVG_ERR_ARGUMENT a value is out of range
 * @retval TOKAVG_ERR_WEIGHT weight_sum is not finite, too large, or negative where weights divide
 * @retval TOKAVG_ERR_OVERFLOW this rank's tokens reach 2^63, or its microbatches 2^32
 * @retval TOKAVG_ERR_STATE this rank only asks, or said it is done, or has not begun the microbatch
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_count_add(tokavg_context_t *ctx, int32_t term, int64_t tokens, double weight_sum,
                                            int64_t microbatches) TOKAVG_NOEXCEPT;

/**
 * @brief Takes the latest microbatch back (all microbatches of the latest tokavg_count_add()): its counts in all terms,
 * the losses recorded on TOKAVG_OPEN since it began, and whatever was non-finite in them.
 * @param ctx the context
 * @retval TOKAVG_OK taken back
 * @retval TOKAVG_ERR_STATE there is no microbatch to take back: none was begun in this step, or it was taken back
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_discard(tokavg_context_t *ctx) TOKAVG_NOEXCEPT;

/**
 * @brief Closes the open step, begins to sum its counts over the ranks, and opens the next step.
 *
 * A step may hold any number of microbatches, also none, also a different number on each rank. When all of
 * config.in_flight tickets are in use by unfinished reductions, the call first waits for the oldest.
 *
 * @param ctx the context
 * @param options NULL: all defaults
 * @param stream CUDA labels: the stream of the counts; else ignored
 * @param ticket_out receives the ticket; not NULL. 0 if the context has failed, and where nothing is closed (see
 *        TOKAVG_ERR_STATE); else valid also when the call fails: that ticket has failed
 * @retval TOKAVG_OK begun; a failure of this rank earlier in the step is reported by tokavg_wait() on the ticket
 * @retval TOKAVG_ERR_ARGUMENT an option is out of range, or ticket_out is NULL (the step is closed as failed)
 * @retval TOKAVG_ERR_UNSUPPORTED unknown bytes in options (the step is closed as failed)
 * @retval TOKAVG_ERR_TIMEOUT the oldest step did not complete in time
 * @retval TOKAVG_ERR_STATE stream is being captured, and losses of earlier steps have not been sent, the open step was
 *         begun before the capture, or too many captured steps are kept (nothing is closed); or stream cannot be used,
 *         being NULL beside a capture, or the open step was begun in a capture (the step is closed as failed)
 * @collective
 * @blocking only when all of config.in_flight tickets are in use by unfinished reductions, or 2 * config.in_flight
 *           messages are unfinished, or, while stream is being captured, any of earlier steps; at most timeout_ms
 * @threadsafety the context's thread
 * @stream the counts are summed after earlier work on stream
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_reduce(tokavg_context_t *ctx, const tokavg_reduce_t *options, tokavg_stream_t stream,
                                         tokavg_ticket_t *ticket_out) TOKAVG_NOEXCEPT;

/**
 * @brief Sends what was recorded for closed steps since the last message: losses, and failures of this rank.
 *
 * Losses travel with the next tokavg_reduce() anyway; flush where no reduce follows, or to read a mean loss at once.
 * It says that all losses of the closed steps are recorded: the audit of those steps is due when it completes. A
 * failure that it tells is reported by tokavg_wait() for TOKAVG_WAIT_LOSS on the newest ticket, and again by the next
 * step.
 *
 * @param ctx the context
 * @param stream CUDA losses: their stream; else ignored
 * @retval TOKAVG_OK begun
 * @retval TOKAVG_ERR_TIMEOUT too many messages were in flight and the oldest did not complete in time
 * @retval TOKAVG_ERR_STATE stream is being captured (nothing is sent), or is NULL beside a capture (the failure is
 * sent)
 * @collective
 * @blocking only when 2 * config.in_flight messages are unfinished, at most timeout_ms
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_flush(tokavg_context_t *ctx, tokavg_stream_t stream) TOKAVG_NOEXCEPT;

/**
 * @brief Moves messages on. Needed only where no thread does it: MPI below MPI_THREAD_MULTIPLE, TOKAVG_PROGRESS_CALLER,
 * a caller's table. There one call a millisecond during the forward pass hides the reduction; and between reduce and
 *        wait a rank must not block on another rank that may be waiting for the same step (an MPI_Recv of a pipeline
 *        stage, say), since a step needs the calls of all ranks: call tokavg_wait() before it.
 * @param ctx the context
 * @retval TOKAVG_OK nothing is wrong
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_progress(tokavg_context_t *ctx) TOKAVG_NOEXCEPT;

/** @} */
/** @name Result */
/** @{ */

/**
 * @brief Waits for a step and reads it.
 *
 * TOKAVG_WAIT_LOSS waits for the messages already begun; if they do not complete the losses it returns TOKAVG_PENDING
 * with a text that says which call sends the rest (tokavg_flush()). Losses that the audit found wrong (other tokens
 * than were counted) are not waited for: TOKAVG_OK with TOKAVG_RESULT_AUDIT_FAILED and without
 * TOKAVG_RESULT_LOSS_READY.
 *
 * @param ctx the context
 * @param ticket a ticket that is kept
 * @param what TOKAVG_WAIT_COUNT or TOKAVG_WAIT_LOSS
 * A ticket that was closed in a CUDA graph's capture has the numbers of the latest finished replay, and is
 * TOKAVG_PENDING, also after the deadline, where none has finished.
 *
 * @param timeout_ms 0: only ask; > 0: wait so long, then TOKAVG_PENDING; -1: wait until the deadline
 * @param result_out NULL, or a result whose struct_size is set; filled in also with PEER, OVERFLOW, WEIGHT, COPIES,
 *        DESYNC and TIMEOUT as far as it is known, and with TOKAVG_PENDING
 * @retval TOKAVG_OK complete
 * @retval TOKAVG_EMPTY complete, and Z = 0 in every term
 * @retval TOKAVG_PENDING not yet
 * @retval TOKAVG_ERR_ARGUMENT ticket is 0, TOKAVG_OPEN or not yet given, or another argument is out of range
 * @retval TOKAVG_ERR_STALE the ticket is no longer kept
 * @retval TOKAVG_ERR_PEER another rank failed in this step
 * @retval TOKAVG_ERR_OVERFLOW a sum over the ranks is too large
 * @retval TOKAVG_ERR_WEIGHT a weight was bad on some rank
 * @retval TOKAVG_ERR_COPIES copies of labels differ
 * @retval TOKAVG_ERR_DESYNC the ranks are not in the same step
 * @retval TOKAVG_ERR_TIMEOUT ranks did not arrive before the deadline
 * @blocking up to timeout_ms or the deadline
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_wait(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t what, int64_t timeout_ms,
                                       tokavg_result_t *result_out) TOKAVG_NOEXCEPT;

/**
 * @brief The factor of a step, in double, the same bits on every rank. Round it once to the type you need.
 * @param ctx the context
 * @param ticket a ticket that is kept
 * @param term 0 to config.terms - 1
 * @param kind one of the TOKAVG_FACTOR_ constants
 * @param factor_out receives the factor; not NULL
 * @retval TOKAVG_OK written; also for an empty step, whose factor is 0
 * @retval TOKAVG_ERR_ARGUMENT an argument is out of range, or the ticket is TOKAVG_OPEN (its factor is not known yet)
 * @retval TOKAVG_ERR_STALE the ticket is no longer kept
 * @retval TOKAVG_ERR_PEER another rank failed in this step; likewise the other errors of tokavg_wait()
 * @blocking until the counts are summed, at most timeout_ms of the configuration
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_factor(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t term, int32_t kind,
                                         double *factor_out) TOKAVG_NOEXCEPT;

/**
 * @brief The factor of a step as a float in device memory, for optimisers and for ncclRedOpCreatePreMulSum.
 * @param ctx the context
 * @param ticket a ticket that is kept
 * @param term 0 to config.terms - 1
 * @param kind one of the TOKAVG_FACTOR_ constants
 * @param stream the stream in whose order the value may be read
 * @param factor_out receives an address in device memory; not NULL
 * @retval TOKAVG_OK written; the value is ready in stream order, NaN where the step failed
 * @retval TOKAVG_ERR_NOT_BUILT the library was built without CUDA
 * @retval TOKAVG_ERR_STATE the context works on the host, or stream is being captured and the ticket was closed before
 * @threadsafety the context's thread
 * @stream work enqueued on stream afterwards sees the value
 * @ownership the float is the library's and lives as long as the ticket
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_factor_device(tokavg_context_t *ctx, tokavg_ticket_t ticket, int32_t term,
                                                int32_t kind, tokavg_stream_t stream,
                                                const float **factor_out) TOKAVG_NOEXCEPT;

/** @} */
/** @name Loss */
/** @{ */

/**
 * @brief Records losses, and optionally returns what to call backward on.
 *
 * The tokens of all losses of a term are compared with those that were counted (result.audit_ticket); a term for which
 * no loss is recorded at all is not audited.
 *
 * On a ticket, backward_out is S * f (waits for the counts). On TOKAVG_OPEN it is S: then scale the gradients with
 * tokavg_scale() after their reduction.
 *
 * @param ctx the context
 * @param ticket a ticket that is kept, or TOKAVG_OPEN
 * @param loss what to record
 * @param stream CUDA losses: read in its order; else ignored
 * @retval TOKAVG_OK recorded
 * @retval TOKAVG_ERR_ARGUMENT loss is NULL, or a field is out of range
 * @retval TOKAVG_ERR_WEIGHT a scored weight is bad
 * @retval TOKAVG_ERR_STATE the gradients of this ticket were already scaled by tokavg_scale(); or this rank only asks
 * @retval TOKAVG_ERR_STALE the ticket is no longer kept
 * @retval TOKAVG_ERR_PEER another rank failed in this step; likewise the other errors of tokavg_wait()
 * @retval TOKAVG_ERR_UNSUPPORTED unknown bytes in a struct, or CUDA memory on a host context
 * @blocking on a host, when backward_out is wanted on a ticket: until the counts are summed, at most timeout_ms
 * @threadsafety the context's thread
 * @stream ordered after earlier work on stream
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_loss(tokavg_context_t *ctx, tokavg_ticket_t ticket, const tokavg_loss_t *loss,
                                       tokavg_stream_t stream) TOKAVG_NOEXCEPT;

/**
 * @brief Cross entropy and its gradient in one call, normalised and recorded.
 *
 * On the host the exponentials are computed in float32 and summed in a fixed order that depends on the column alone;
 * the label's own share comes in in double. Losses, lse and gradients have the same bits for every vector length,
 * alignment, partition of the rows and number of threads, with and without gradient_out.
 *
 * A loss is off by at most 2e-7 of itself, also where the model is nearly certain; by 7.4e-8 times their distance more
 * where most of a row's weight, the label's apart, lies in many equal logits that far below the largest; and with a cap
 * each logit is off by up to 2 units in the last place of the cap.
 *
 * @param ctx the context
 * @param ticket a ticket that is kept, or TOKAVG_OPEN (factor 1)
 * @param ce logits, labels and outputs
 * @param stream CUDA logits: read in its order; else ignored
 * @retval TOKAVG_OK recorded, outputs written
 * @retval TOKAVG_ERR_ARGUMENT ce is NULL, or a field is out of range
 * @retval TOKAVG_ERR_LABEL a scored label is outside the vocabulary: row, column and value are in the text, outputs are
 *         untouched. On a device its loss is NaN and its gradient row 0
 * @retval TOKAVG_ERR_WEIGHT a scored weight is bad
 * @retval TOKAVG_ERR_STATE the gradients of this ticket were already scaled by tokavg_scale(); or this rank only asks
 * @retval TOKAVG_ERR_STALE the ticket is no longer kept
 * @retval TOKAVG_ERR_PEER another rank failed in this step; likewise the other errors of tokavg_wait()
 * @retval TOKAVG_ERR_UNSUPPORTED unknown bytes in a struct, or CUDA memory on a host context
 * @blocking on a host, when backward_out or gradient_out is wanted on a ticket: until the counts are summed
 * @threadsafety the context's thread
 * @stream ordered after earlier work on stream
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_cross_entropy(tokavg_context_t *ctx, tokavg_ticket_t ticket,
                                                const tokavg_cross_entropy_t *ce,
                                                tokavg_stream_t stream) TOKAVG_NOEXCEPT;

/**
 * @brief Multiplies arrays (gradients after their reduction, before clipping) by a factor, in place.
 *
 * Kind SCALE applies f once for a step: it is refused on a ticket whose losses were scaled before backward, and the
 * other way round. Where the factor is 0, zeros are written, also over NaN.
 *
 * @param ctx the context
 * @param ticket a ticket that is kept
 * @param scale the arrays, the term and the kind of factor
 * @param stream CUDA arrays: scaled in its order; else ignored
 * @retval TOKAVG_OK scaled
 * @retval TOKAVG_ERR_ARGUMENT scale is NULL, the ticket is TOKAVG_OPEN, or a field is out of range
 * @retval TOKAVG_ERR_STATE the losses of this ticket were scaled before backward
 * @retval TOKAVG_ERR_STALE the ticket is no longer kept
 * @retval TOKAVG_ERR_PEER another rank failed in this step; likewise the other errors of tokavg_wait()
 * @retval TOKAVG_ERR_UNSUPPORTED unknown bytes in a struct, or CUDA memory on a host context
 * @blocking on a host: until the counts are summed, at most timeout_ms
 * @threadsafety the context's thread
 * @stream ordered after earlier work on stream
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_scale(tokavg_context_t *ctx, tokavg_ticket_t ticket, const tokavg_scale_t *scale,
                                        tokavg_stream_t stream) TOKAVG_NOEXCEPT;

/**
 * @brief Says that a ticket is not needed any more on this rank: later uses are TOKAVG_ERR_STALE. Needed only for
 *        tickets closed while a CUDA graph was captured, which are kept until then.
 * @param ctx the context
 * @param ticket a ticket that is kept
 * @retval TOKAVG_OK released
 * @retval TOKAVG_ERR_ARGUMENT ticket is 0, TOKAVG_OPEN or not yet given
 * @retval TOKAVG_ERR_STALE it was released before, or is no longer kept
 * @threadsafety the context's thread
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_release(tokavg_context_t *ctx, tokavg_ticket_t ticket) TOKAVG_NOEXCEPT;

/** @} */
/** @name Errors */
/** @{ */

/**
 * @brief The text of the last error or remark of a context, or of this thread where there was no context (a failed
 *        tokavg_init(), a bad handle): argument, value, remedy.
 * @param ctx a context, or NULL: this thread's last error without a context
 * @param text receives a zero-terminated text, cut to fit; NULL only where capacity is 0
 * @param capacity bytes of text, >= 0
 * @param needed_out receives the bytes that the whole text needs, its zero included; may be NULL
 * @retval TOKAVG_OK written; an empty text when nothing went wrong yet
 * @retval TOKAVG_ERR_ARGUMENT text is NULL with a capacity, or capacity is negative
 * @threadsafety the context's thread; with NULL any thread
 * @ownership copies the text out
 * @since 1.0
 */
TOKAVG_API tokavg_status_t tokavg_last_error(tokavg_context_t *ctx, char *text, int64_t capacity,
                                             int64_t *needed_out) TOKAVG_NOEXCEPT;

/** @} */

#endif
