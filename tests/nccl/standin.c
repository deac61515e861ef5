/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for a libnccl.so.2: has the symbols that tokavg looks for, unless it LACKS some, and says that it is of
 * NCCL_STANDIN_VERSION. Nothing works. */
#ifndef NCCL_STANDIN_VERSION
#define NCCL_STANDIN_VERSION 22809
#endif

#ifndef NCCL_STANDIN_LACKS_ALL

__attribute__((visibility("default"))) int ncclGetVersion(int *version);
int ncclGetVersion(int *version) {
  *version = NCCL_STANDIN_VERSION;
  return 0;
}

#define SYMBOL(name)                                     \
  __attribute__((visibility("default"))) int name(void); \
  int name(void) { return 3; }

SYMBOL(ncclGetErrorString)
SYMBOL(ncclGetLastError)
SYMBOL(ncclGetUniqueId)
SYMBOL(ncclCommInitRankConfig)
#ifndef NCCL_STANDIN_LACKS_SPLIT
SYMBOL(ncclCommSplit)
#endif
SYMBOL(ncclCommFinalize)
SYMBOL(ncclCommDestroy)
SYMBOL(ncclCommAbort)
SYMBOL(ncclCommGetAsyncError)
SYMBOL(ncclCommCount)
SYMBOL(ncclCommCuDevice)
SYMBOL(ncclCommUserRank)
SYMBOL(ncclAllReduce)

#else
int nccl_standin_is_empty;
#endif
