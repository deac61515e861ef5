/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tool asks of MPI. The command itself is not linked to an MPI, so that it starts without one; this table
 * is compiled once per flavour and loaded when a launcher of that flavour started us.
 * Functions that return int return 0, or an MPI error code.
 */
#ifndef TOKAVG_TOOL_MPI_H
#define TOKAVG_TOOL_MPI_H

#include <stdint.h>

#define TOKAVG_TOOL_MPI_VERSION 1
#define TOKAVG_TOOL_MPI_SYMBOL "tokavg_tool_mpi"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tokavg_tool_mpi {
  uint32_t version;  /* TOKAVG_TOOL_MPI_VERSION */
  int (*init)(void); /* MPI_Init_thread, asking for MPI_THREAD_MULTIPLE */
  int (*finalize)(void);
  void (*abort)(int code);
  int (*rank)(void);
  int (*ranks)(void);
  const void *(*communicator)(void); /* address of the MPI_Comm of all ranks */
  int (*barrier)(void);
  int (*sleeping_barrier)(void);             /* leaves the core to a rank that computes */
  int (*sum)(double *values, int64_t count); /* blocking all-reduce in place */
  int (*max)(double *values, int64_t count);
  int (*sum_counts)(int64_t *values, int64_t count); /* the blocking reduction that the bench compares with */
  int (*gather)(const double *mine, int64_t count, double *all); /* to every rank, in rank order */
  /* One reduction of counts at a time; values stay in use until wait returns. */
  int (*start_sum_counts)(const int64_t *mine, int64_t *sums, int64_t count);
  int (*wait)(void);
  void (*describe)(int code, char *text, int32_t capacity); /* the text of an error code */
} tokavg_tool_mpi_t;

#ifdef __cplusplus
}
#endif

#endif
