/* SPDX-License-Identifier: Apache-2.0 */
/* A deadline that passes while the communicator is being duplicated: MPI_Finalize must survive it (Open MPI 4.1 crashed
 * in 6 to 10 of 15 runs with 5 ranks). */
#include <stdio.h>
#include <tokavg/tokavg_mpi.h>

int main(int argc, char **argv) {
  int provided;
  MPI_Comm comm = MPI_COMM_WORLD;
  tokavg_config_t config;
  tokavg_context_t *ctx = NULL;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  tokavg_config_init(&config, (uint32_t)sizeof config);
  config.comm_kind = TOKAVG_COMM_MPI;
  config.comm = &comm;
  config.gradient_reduction = TOKAVG_GRADIENT_MEAN;
  config.timeout_ms = 1;
  const tokavg_status_t status = tokavg_init(&config, &ctx);
  tokavg_free(ctx);
  MPI_Finalize();
  return status == TOKAVG_OK || status == TOKAVG_ERR_TIMEOUT ? 0 : 1;
}
