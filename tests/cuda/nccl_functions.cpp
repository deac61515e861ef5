// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that the tests call, from the libnccl.so.2 of the machine that they run on: it may have none.
// TOKAVG_NCCL_PATH names the file, as it does for the library.
#include <dlfcn.h>
#include <nccl.h>

#include <cstdlib>

namespace {

void* library() {
  static void* const handle = [] {
    const char* path = std::getenv("TOKAVG_NCCL_PATH");
    return dlopen(path != nullptr && *path != '\0' ? path : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  }();
  return handle;
}

template <typename Function>
Function* find(const char* name) {
  return library() != nullptr ? reinterpret_cast<Function*>(dlsym(library(), name)) : nullptr;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static auto* const call = find<decltype(ncclGetUniqueId)>("ncclGetUniqueId");
  return call != nullptr ? call(id) : ncclSystemError;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  static auto* const call = find<decltype(ncclCommInitRank)>("ncclCommInitRank");
  return call != nullptr ? call(comm, ranks, id, rank) : ncclSystemError;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  static auto* const call = find<decltype(ncclCommDestroy)>("ncclCommDestroy");
  return call != nullptr ? call(comm) : ncclSystemError;
}

const char* ncclGetErrorString(ncclResult_t result) {
  static auto* const call = find<decltype(ncclGetErrorString)>("ncclGetErrorString");
  return call != nullptr ? call(result) : "there is no libnccl.so.2";
}

}  // extern "C"
