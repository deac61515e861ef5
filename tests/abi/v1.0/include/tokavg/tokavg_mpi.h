/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tokavg_mpi.h
 * @brief A typed way to hand over an MPI communicator. Header only; needs <mpi.h>, adds nothing to the library.
 */
#ifndef TOKAVG_MPI_H
#define TOKAVG_MPI_H

/** @cond The C++ bindings that MPI 3.0 removed would have to be linked. */
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
/** @endcond */
#include <mpi.h>

#include "tokavg.h"

/**
 * @brief Makes a context on an MPI communicator with defaults for everything else.
 * @param comm an intracommunicator; the library duplicates it
 * @param gradient_reduction TOKAVG_GRADIENT_MEAN or TOKAVG_GRADIENT_SUM
 * @param ctx_out receives the context
 * @return what tokavg_init() returns
 * @collective
 * @blocking until all ranks have called it, at most the default deadline
 * @threadsafety any thread
 * @since 1.0
 */
static inline tokavg_status_t tokavg_init_mpi(MPI_Comm comm, int32_t gradient_reduction, tokavg_context_t **ctx_out) {
  tokavg_config_t config;
  const tokavg_status_t status = tokavg_config_init(&config, (uint32_t)sizeof config);
  if (status != TOKAVG_OK) return status;
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &comm;
  config.gradient_reduction = gradient_reduction;
  return tokavg_init(&config, ctx_out);
}

#endif
