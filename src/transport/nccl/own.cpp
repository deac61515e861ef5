// SPDX-License-Identifier: Apache-2.0
#include "transport/nccl/own.hpp"

#include <functional>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "transport/nccl/check.hpp"
#include "transport/nccl/gpu.hpp"

namespace tokavg::nccl {
namespace {

// Fields that the nccl.h of the build may lack (commName and collnetEnable came with NCCL 2.27). A libnccl that is
// older than the header ignores what it does not know: it reads no more than its own struct has, and by `version`.
template <typename Config>
void set_newer_fields(Config& config) {
  if constexpr (requires { config.commName; }) config.commName = "tokavg";
  if constexpr (requires { config.collnetEnable; }) config.collnetEnable = 0;
}

// One small message a step: one block of the GPU and one channel (else 9.2 MiB a channel and connection), no clusters,
// no switch offload, and nothing shared with the communicator that it is split from.
ncclConfig_t small_config() {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 1;  // NCCL_COMM_BLOCKING=0 in the environment overrides it
  config.cgaClusterSize = 0;
  config.minCTAs = 1;
  config.maxCTAs = 1;
  config.splitShare = 0;
  set_newer_fields(config);
  return config;
}

// What the errand and the one who waits for it share.
struct Making {
  std::mutex mutex;
  bool abandoned = false;
  ncclComm_t comm = nullptr;
};

using Maker = std::function<ncclResult_t(ncclComm_t*, ncclConfig_t*)>;

void make_in_errand(const Library& library, int device, const char* call, const Maker& maker, Making& making) {
  const OnGpu gpu(device);
  ncclConfig_t config = small_config();
  ncclComm_t comm = nullptr;
  ncclResult_t result = maker(&comm, &config);
  const auto abandoned = [&making] {
    const std::lock_guard lock(making.mutex);
    return making.abandoned;
  };
  while (result == ncclInProgress && comm != nullptr && !abandoned()) {
    result = settle(library, comm, result, Clock::now() + std::chrono::milliseconds(10));
  }
  if (result == ncclSuccess) {
    const std::lock_guard lock(making.mutex);
    making.comm = comm;
    if (!making.abandoned) return;
  }
  if (comm != nullptr) static_cast<void>(library.comm_abort(comm));
  check(library, result, call);
}

// note: what the caller should know when it never returns.
std::shared_ptr<Communicator> make(const std::shared_ptr<const Library>& library, int device, const char* call,
                                   Maker maker, const Deadline& deadline, const char* note) {
  auto making = std::make_shared<Making>();
  Errand errand([library, device, call, making, work = std::move(maker)] {
    make_in_errand(*library, device, call, work, *making);
  });
  if (!errand.done_by(deadline.end)) {
    const std::lock_guard lock(making->mutex);
    if (making->comm == nullptr) {
      making->abandoned = true;
      fail(TOKAVG_ERR_TIMEOUT,
           "%s did not return within %g s (the thread that called it is left behind%s): a rank is missing, or the "
           "ranks cannot reach each other (NCCL_SOCKET_IFNAME; NCCL_DEBUG=INFO says more)",
           call, deadline.seconds, note);
    }
  }
  auto communicator = std::make_shared<Communicator>(library, making->comm, Communicator::Owner::kTokavg, device);
  try {
    communicator->introduce();
  } catch (...) {
    communicator->abort();
    throw;
  }
  return communicator;
}

}  // namespace

ncclUniqueId make_id(const Library& library) {
  ncclUniqueId id;
  check(library, library.get_unique_id(&id), "ncclGetUniqueId");
  return id;
}

std::shared_ptr<Communicator> make_by_id(const std::shared_ptr<const Library>& library, const Seat& seat,
                                         const ncclUniqueId& id, const Deadline& deadline) {
  const auto maker = [library, seat, id](ncclComm_t* comm, ncclConfig_t* config) {
    return library->comm_init_rank_config(comm, seat.ranks, id, seat.rank, config);
  };
  return make(library, seat.device, "ncclCommInitRankConfig", maker, deadline, "");
}

std::shared_ptr<Communicator> make_by_split(const Communicator& lent, const Deadline& deadline) {
  const auto maker = [library = lent.library(), parent = lent.get(), key = lent.rank()](ncclComm_t* comm,
                                                                                        ncclConfig_t* config) {
    return library->comm_split(parent, 0, key, comm, config);
  };
  return make(lent.library(), lent.device(), "ncclCommSplit", maker, deadline,
              ", and with it config.comm: do not use or destroy that ncclComm_t any more");
}

}  // namespace tokavg::nccl
