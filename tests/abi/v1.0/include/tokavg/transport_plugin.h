/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file transport_plugin.h
 * @brief The table of functions by which messages are summed over ranks.
 *
 * Two users: frameworks that own their communication fill in a ::tokavg_transport_t and hand it to tokavg_init()
 * with comm_kind TOKAVG_COMM_CALLER; and the library's own MPI plugins fill in the same table when they are
 * opened. All a transport has to do is to add vectors of 64-bit integers.
 *
 * ### Rules
 * - The library starts the same sums in the same order on every rank. Several may be in flight.
 * - `words` belongs to the library and stays valid until `test` has reported the sum done, `cancel` has
 *   succeeded, or `close` has returned; after an error, until `close` has returned.
 * - A request may be NULL; it is then never described.
 * - A table is written at most up to the struct_size that it came with.
 * - A table given by a caller is used only inside tokavg calls and by one thread at a time; with
 *   TOKAVG_TRANSPORT_CAN_ANY_THREAD also by tokavg_abort() from another thread.
 * - No function may block for long: `start` and `test` return at once.
 * - Functions return a ::tokavg_status_t; a negative one ends the context on this rank with that status.
 */
#ifndef TOKAVG_TRANSPORT_PLUGIN_H
#define TOKAVG_TRANSPORT_PLUGIN_H

#include "export.h"
#include "types.h"

/** Version and capabilities of a ::tokavg_transport_t. */
enum {
  /** The version of the table described here. */
  TOKAVG_TRANSPORT_VERSION = 1,
  /** Any thread may call the table's functions, also two at a time. */
  TOKAVG_TRANSPORT_CAN_ANY_THREAD = 1,
  /** Sums advance without calls (a thread, a network card). */
  TOKAVG_TRANSPORT_CAN_PROGRESS = 2
};

/** How the ranks' words are summed. Entries marked optional may be NULL. */
typedef struct tokavg_transport_t {
  uint32_t struct_size;  /**< sizeof(tokavg_transport_t) */
  uint32_t version;      /**< TOKAVG_TRANSPORT_VERSION */
  int32_t rank;          /**< this rank, 0 to ranks - 1 */
  int32_t ranks;         /**< number of ranks, >= 1 */
  uint32_t capabilities; /**< TOKAVG_TRANSPORT_CAN_ flags */
  uint32_t reserved;     /**< 0 */
  void *user;            /**< handed to every function */

  /**
   * Begins to sum `words` over all ranks, in place, modulo 2^64.
   * @param user the table's user
   * @param words n_words values of this rank; the sum when `test` reports done
   * @param n_words the same on all ranks, 1 to 4096
   * @param request_out receives what names this sum in later calls; not NULL
   */
  tokavg_status_t (*start)(void *user, uint64_t *words, int64_t n_words, void **request_out);

  /**
   * Moves the sum on and asks whether it is complete. Once it has reported done or an error, the request is gone.
   * @param user the table's user
   * @param request from `start`
   * @param done_out receives 1 when words holds the sum, else 0
   */
  tokavg_status_t (*test)(void *user, void *request, int32_t *done_out);

  /**
   * Optional. Gives a sum up: neither words nor the request are touched afterwards.
   * Without it the library keeps the buffer of an unfinished sum until after `close`.
   */
  tokavg_status_t (*cancel)(void *user, void *request);

  /**
   * Optional. Called once when a deadline has passed here, before `cancel`, or on another rank: which ranks have not
   * arrived in this sum. May take up to 0.1 s, to agree on the list with the ranks that are waiting too.
   * @param user the table's user
   * @param request from `start`; NULL after `start` or `test` returned TOKAVG_ERR_TIMEOUT (the request is gone then)
   * @param ranks_out receives up to `capacity` ranks, ascending
   * @param capacity length of ranks_out
   * @param count_out receives how many there are (may be more than capacity); 0: not known
   */
  tokavg_status_t (*late_ranks)(void *user, void *request, int32_t *ranks_out, int32_t capacity, int32_t *count_out);

  /** Optional. tokavg_abort() was called: tell the other ranks as far as that is possible without blocking. */
  tokavg_status_t (*abort)(void *user);

  /**
   * Optional. Describes the state in words.
   * @param user the table's user
   * @param request a sum ("round 0 waits for rank 3"), or NULL: the transport, as one JSON object, whose member
   *        "error" is null or the reason why `start` or `test` failed
   * @param text_out receives a zero-terminated text, cut to fit
   * @param capacity bytes of text_out
   */
  tokavg_status_t (*describe)(void *user, void *request, char *text_out, int64_t capacity);

  /**
   * Optional. The context is gone; no other function is called afterwards.
   * @param user the table's user
   * @param collective 1 when all ranks close now (tokavg_finalize()) and the call may talk to them;
   *        0 when this rank is alone (tokavg_free()): the call must not block
   */
  void (*close)(void *user, int32_t collective);
} tokavg_transport_t;

/** What the library tells a plugin when it opens it. */
typedef struct tokavg_transport_options_t {
  uint32_t struct_size; /**< sizeof(tokavg_transport_options_t) */
  int32_t comm_kind;    /**< TOKAVG_COMM_MPI or TOKAVG_COMM_MPI_FORTRAN */
  const void *comm;     /**< COMM_MPI: the address of the caller's MPI_Comm; valid during the call */
  int32_t comm_fortran; /**< COMM_MPI_FORTRAN: the integer communicator */
  int32_t progress;     /**< one of the TOKAVG_PROGRESS_ constants */
  int64_t timeout_ms;   /**< opening must not take longer */
  int64_t max_words;    /**< no sum will be longer */
} tokavg_transport_options_t;

/**
 * The one function that a plugin exports, under the name `tokavg_transport_open`. Collective over the
 * communicator, bounded by timeout_ms.
 * @param options what to open
 * @param table_out receives the table on success
 * @param text_out receives the reason on failure, zero-terminated
 * @param capacity bytes of text_out
 */
typedef tokavg_status_t (*tokavg_transport_open_t)(const tokavg_transport_options_t *options,
                                                   tokavg_transport_t *table_out, char *text_out, int64_t capacity);

#endif
