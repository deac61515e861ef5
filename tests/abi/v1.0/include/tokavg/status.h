/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file status.h
 * @brief What every function returns, and what to do about it.
 *
 * Zero is success; a positive value is success with a remark; a negative value is an error. Two kinds of
 * error matter to a trainer:
 *
 * - errors that end **one step** (PEER, OVERFLOW, WEIGHT, COPIES): every rank learns of them on the same
 *   ticket, skips the same optimiser step and goes on;
 * - errors that end **the context** (TIMEOUT, DESYNC, ABORTED, TRANSPORT, DEVICE): they are sticky, each
 *   later call returns the same status at once. Free the context and stop, or restart from a checkpoint.
 *
 * All other errors are local to the call that returned them. A call that changes the open step and fails
 * (tokavg_count, tokavg_count_add, tokavg_discard, tokavg_loss, tokavg_cross_entropy, tokavg_scale) also
 * marks the open step, so that the next reduce tells the other ranks (they get PEER) and nobody trains on
 * half a step. The text of an error, with the argument, the value and the remedy, is what
 * tokavg_last_error() returns.
 */
#ifndef TOKAVG_STATUS_H
#define TOKAVG_STATUS_H

#include <stdint.h>

/** The result of a call: 0, a positive remark or a negative error. Values may be added, never changed. */
typedef int32_t tokavg_status_t;

/** Values of #tokavg_status_t. */
enum {
  /** Done. */
  TOKAVG_OK = 0,
  /** Not yet complete; ask again, or wait longer. Nothing is wrong. */
  TOKAVG_PENDING = 1,
  /** The step is complete and holds nothing to divide by (Z = 0 in every term). Factors are 0, losses +0.0. */
  TOKAVG_EMPTY = 2,

  /** An argument is wrong. The text names it, its value and what is accepted. */
  TOKAVG_ERR_ARGUMENT = -1,
  /** The configuration is wrong, or differs between ranks. The text names the field. */
  TOKAVG_ERR_CONFIG = -2,
  /** The call does not fit the state, for instance a second discard in a row or a call after finalize. */
  TOKAVG_ERR_STATE = -3,
  /** The ticket is older than the context keeps (config.in_flight), or was released. */
  TOKAVG_ERR_STALE = -4,
  /** A scored label lies outside the vocabulary. The text names row, column and value. */
  TOKAVG_ERR_LABEL = -5,
  /** A scored weight is not finite, too large, or negative where weights are the divisor. */
  TOKAVG_ERR_WEIGHT = -6,
  /** A count or a sum of weights does not fit its type. Nothing ever wraps around. */
  TOKAVG_ERR_OVERFLOW = -7,
  /** Ranks that said they hold copies of the same labels counted different ones. */
  TOKAVG_ERR_COPIES = -8,
  /** Another rank failed in this step. The text names it when it is one. */
  TOKAVG_ERR_PEER = -9,
  /** The ranks are not in the same step: one called once too often, too seldom or differently. Sticky. */
  TOKAVG_ERR_DESYNC = -10,
  /** Ranks did not arrive before the deadline. The text lists them. Sticky. */
  TOKAVG_ERR_TIMEOUT = -11,
  /** tokavg_abort() was called, here or on another rank. Sticky. */
  TOKAVG_ERR_ABORTED = -12,
  /** MPI, NCCL or the caller's transport reported an error, or cannot be reached. Sticky. */
  TOKAVG_ERR_TRANSPORT = -13,
  /** The GPU reported an error. Sticky. */
  TOKAVG_ERR_DEVICE = -14,
  /** No memory. */
  TOKAVG_ERR_MEMORY = -15,
  /** This version cannot do it, for instance a struct with a non-zero tail from a newer header. */
  TOKAVG_ERR_UNSUPPORTED = -16,
  /** The library was built without this part. The text names the build option. */
  TOKAVG_ERR_NOT_BUILT = -17,
  /** The handle is NULL, was freed, or never came from this library. */
  TOKAVG_ERR_HANDLE = -18,
  /** A fault of the library itself. Please report it with the text. */
  TOKAVG_ERR_INTERNAL = -19
};

#endif
