// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <memory>
#include <string>

#include "base/dynlib.hpp"

#if NCCL_VERSION_CODE < 21801
#error "tokavg needs the nccl.h of NCCL 2.18.1 or later"
#endif

namespace tokavg::nccl {

// Where a libnccl may come from. A communicator means nothing to another copy of NCCL than the one that made it.
enum class Origin { kThisProcess, kAnywhere };

// The functions of one libnccl, found while the program runs: libtokavg itself depends on none.
struct Library {
  // From what the process has loaded; with kAnywhere also from `path`, the TOKAVG_NCCL_PATH, if it is not empty, and
  // then from where the system's loader looks. Throws Error that says what is missing: the library, a symbol, or a
  // version that is new enough.
  static std::shared_ptr<const Library> find(Origin origin, const std::string& path);

  int version = 0;   // 22809
  std::string file;  // absolute, or empty where it is not known
  Dynlib owner;      // nothing where the symbols are the program's own

  decltype(&::ncclGetVersion) get_version = nullptr;
  decltype(&::ncclGetErrorString) get_error_string = nullptr;
  decltype(&::ncclGetLastError) get_last_error = nullptr;
  decltype(&::ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&::ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&::ncclCommSplit) comm_split = nullptr;
  decltype(&::ncclCommFinalize) comm_finalize = nullptr;
  decltype(&::ncclCommDestroy) comm_destroy = nullptr;
  decltype(&::ncclCommAbort) comm_abort = nullptr;
  decltype(&::ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&::ncclCommCount) comm_count = nullptr;
  decltype(&::ncclCommCuDevice) comm_cu_device = nullptr;
  decltype(&::ncclCommUserRank) comm_user_rank = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
};

// "2.28.9" of 22809.
std::string version_text(int version);

}  // namespace tokavg::nccl
