// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/library.hpp"

#include <functional>
#include <optional>
#include <utility>

#include "base/error.hpp"

namespace tokavg::nccl {
namespace {

constexpr char kSoname[] = "libnccl.so.2";
constexpr int kOldest = NCCL_VERSION(2, 18, 1);  // ncclCommSplit

// A place where symbols are looked up.
struct Place {
  Dynlib library;  // nothing: what the program has loaded globally
  [[nodiscard]] void* symbol(const char* name) const {
    return library ? library.symbol(name) : find_symbol_in_process(name);
  }
};

std::optional<Place> find_in_process() {
  if (find_symbol_in_process("ncclGetVersion") != nullptr) return Place{};
  Dynlib loaded = Dynlib::already_loaded(kSoname);
  if (loaded) return Place{std::move(loaded)};
  return std::nullopt;
}

Place load(const std::string& path) {
  std::string reason;
  if (!path.empty()) {
    if (!path.starts_with('/')) {
      fail(TOKAVG_ERR_CONFIG, "TOKAVG_NCCL_PATH is \"%s\"; it has to be the absolute path of a libnccl.so.2",
           path.c_str());
    }
    Dynlib named = Dynlib::try_to_load_for_good(path, reason);
    if (!named) fail(TOKAVG_ERR_TRANSPORT, "TOKAVG_NCCL_PATH does not lead to NCCL: %s", reason.c_str());
    return Place{std::move(named)};
  }
  Dynlib found = Dynlib::try_to_load_for_good(kSoname, reason);
  if (!found) {
    fail(TOKAVG_ERR_TRANSPORT,
         "NCCL was not found: %s; install it (package libnccl2, or pip's nvidia-nccl-cu12 or -cu13), add its folder to "
         "LD_LIBRARY_PATH, or set TOKAVG_NCCL_PATH to the file",
         reason.c_str());
  }
  return Place{std::move(found)};
}

Place choose(Origin origin, const std::string& path) {
  if (std::optional<Place> here = find_in_process()) return *std::move(here);
  if (origin == Origin::kAnywhere) return load(path);
  fail(TOKAVG_ERR_CONFIG,
       "config.comm is an ncclComm_t, but NCCL is not in this process: neither is ncclGetVersion a symbol of the "
       "program or of what it loaded globally, nor is %s loaded. A communicator needs the very library that made it: "
       "link the program with libnccl as a shared library",
       kSoname);
}

template <typename Function>
void take(const Place& place, const std::string& file, const char* name, Function& slot) {
  slot = reinterpret_cast<Function>(place.symbol(name));
  if (slot != nullptr) return;
  fail(TOKAVG_ERR_TRANSPORT, "%s has no %s; it is not an NCCL of version %s or later",
       file.empty() ? "the program" : file.c_str(), name, version_text(kOldest).c_str());
}

void take_all(const Place& place, Library& library) {
  const std::string& file = library.file;
  take(place, file, "ncclGetErrorString", library.get_error_string);
  take(place, file, "ncclGetLastError", library.get_last_error);
  take(place, file, "ncclGetUniqueId", library.get_unique_id);
  take(place, file, "ncclCommInitRankConfig", library.comm_init_rank_config);
  take(place, file, "ncclCommSplit", library.comm_split);
  take(place, file, "ncclCommFinalize", library.comm_finalize);
  take(place, file, "ncclCommDestroy", library.comm_destroy);
  take(place, file, "ncclCommAbort", library.comm_abort);
  take(place, file, "ncclCommGetAsyncError", library.comm_get_async_error);
  take(place, file, "ncclCommCount", library.comm_count);
  take(place, file, "ncclCommCuDevice", library.comm_cu_device);
  take(place, file, "ncclCommUserRank", library.comm_user_rank);
  take(place, file, "ncclAllReduce", library.all_reduce);
}

}  // namespace

std::string version_text(int version) {
  // NCCL_VERSION has had one more digit since 2.9.
  const int digit = version < 10000 ? 1000 : 10000;
  return format("%d.%d.%d", version / digit, version % digit / 100, version % 100);
}

std::shared_ptr<const Library> Library::find(Origin origin, const std::string& path) {
  const Place place = choose(origin, path);
  auto library = std::make_shared<Library>();
  void* some_symbol = place.symbol("ncclGetVersion");
  library->file = some_symbol != nullptr ? file_of_address(some_symbol) : path;
  take(place, library->file, "ncclGetVersion", library->get_version);
  if (const ncclResult_t result = library->get_version(&library->version); result != ncclSuccess) {
    fail(TOKAVG_ERR_TRANSPORT, "ncclGetVersion of %s failed (%d)", library->file.c_str(), static_cast<int>(result));
  }
  if (library->version < kOldest) {
    fail(TOKAVG_ERR_UNSUPPORTED, "the NCCL in use, %s, is version %s; tokavg needs %s or later", library->file.c_str(),
         version_text(library->version).c_str(), version_text(kOldest).c_str());
  }
  take_all(place, *library);
  library->owner = place.library;
  return library;
}

}  // namespace tokavg::nccl
