// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include <thread>

#include "cuda_emulator/device.hpp"
#include "cuda_emulator/nccl_call.hpp"
#include "cuda_emulator/nccl_communicator.hpp"
#include "cuda_emulator/nccl_group.hpp"
#include "cuda_emulator/settings.hpp"

using namespace cuda_emulator;

// NCCL's functions that make communicators, and those that end them.
namespace {

constexpr unsigned kConfigMagic = 0xcafebeef;

struct Making {
  ncclComm_t* out;
  ncclComm_t handle;
  std::shared_ptr<Communicator> communicator;
  ncclUniqueId id;
};

ncclResult_t fail_making(const Making& making, ncclResult_t result) {
  communicators().remove(making.handle);
  making.communicator->end();
  *making.out = nullptr;
  return result;
}

ncclResult_t begin_making(const Making& making) {
  const ncclResult_t result = making.communicator->join(making.id);
  return result == ncclSuccess ? result : fail_making(making, result);
}

ncclResult_t finish_making(const Making& making, bool blocking) {
  if (blocking) {
    const ncclResult_t result = making.communicator->meet(making.id);
    return result == ncclSuccess ? result : fail_making(making, result);
  }
  std::thread([making] {
    const ncclResult_t result = making.communicator->meet(making.id);
    if (result != ncclSuccess) making.communicator->set_state(result);
  }).detach();
  return ncclInProgress;
}

// The handle is there at once, as with NCCL, so that another thread can abort what waits for a rank that never comes.
Making start_making(ncclComm_t* out, int ranks, int rank, int device, const ncclUniqueId& id) {
  auto communicator = std::make_shared<Communicator>(ranks, rank, device);
  *out = communicators().add(communicator);
  return {out, *out, communicator, id};
}

ncclResult_t check_config(const ncclConfig_t* config, bool* blocking) {
  *blocking = true;
  if (config == nullptr) return ncclSuccess;
  const bool known = config->size == sizeof(ncclConfig_t) && config->magic == kConfigMagic;
  if (!known) return nccl_fault(ncclInvalidArgument, "ncclConfig_t without NCCL_CONFIG_INITIALIZER");
  const auto in_range = [](int value, int low, int high) {
    return value == NCCL_CONFIG_UNDEF_INT || (value >= low && value <= high);
  };
  const bool valid = in_range(config->blocking, 0, 1) && in_range(config->cgaClusterSize, 0, 8) &&
                     in_range(config->minCTAs, 1, 64) && in_range(config->maxCTAs, 1, 64) &&
                     in_range(config->splitShare, 0, 1) && in_range(config->collnetEnable, 0, 1);
  if (!valid) return nccl_fault(ncclInvalidArgument, "a value of ncclConfig_t is out of its range");
  *blocking = config->blocking != 0;
  return ncclSuccess;
}

ncclResult_t init_rank(ncclComm_t* comm, int ranks, const ncclUniqueId& id, int rank, int device,
                       const ncclConfig_t* config) {
  bool blocking = true;
  const ncclResult_t wrong = check_config(config, &blocking);
  if (wrong != ncclSuccess) return wrong;
  if (comm == nullptr || ranks < 1 || rank < 0 || rank >= ranks) {
    return nccl_fault(ncclInvalidArgument, "communicator is NULL, or the rank is not below the number of ranks");
  }
  const Making making = start_making(comm, ranks, rank, device, id);
  return run_or_collect(
      {[making] { return begin_making(making); }, [making, blocking] { return finish_making(making, blocking); }});
}

struct Split {
  std::shared_ptr<Communicator> parent;
  ncclComm_t* out;
  int color;
  int key;
  bool blocking;
  ncclUniqueId id;
};

ncclResult_t finish_split(const Split& split) {
  Communicator::Group group;
  const ncclResult_t result = split.parent->read_colors(split.color, &group);
  if (result != ncclSuccess || split.color == NCCL_SPLIT_NOCOLOR) {
    close_unique_id(split.id);
    return result;
  }
  if (group.rank != 0) close_unique_id(split.id);
  const Making making = start_making(split.out, group.ranks, group.rank, split.parent->device(), group.id);
  const ncclResult_t begun = begin_making(making);
  return begun == ncclSuccess ? finish_making(making, split.blocking) : begun;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_api("ncclGetUniqueId", current_device(), [&] {
    if (id == nullptr) return nccl_fault(ncclInvalidArgument, "unique id is NULL");
    return make_unique_id(id) ? ncclSuccess : nccl_fault(ncclSystemError, "memfd_create failed");
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return nccl_api("ncclCommInitRankConfig", current_device(),
                  [&] { return init_rank(comm, ranks, id, rank, current_device(), config); });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return nccl_api("ncclCommInitRank", current_device(),
                  [&] { return init_rank(comm, ranks, id, rank, current_device(), nullptr); });
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int ranks, const int* devices) {
  return nccl_api("ncclCommInitAll", current_device(), [&] {
    ncclUniqueId id;
    if (comms == nullptr || ranks < 1 || ranks > settings().devices) {
      return nccl_fault(ncclInvalidArgument, "communicators are NULL, or more than there are devices");
    }
    if (!make_unique_id(&id)) return nccl_fault(ncclSystemError, "memfd_create failed");
    for (int rank = 0; devices != nullptr && rank < ranks; ++rank) {
      if (devices[rank] < 0 || devices[rank] >= settings().devices) return nccl_fault(ncclInvalidArgument, "device");
    }
    start_group();
    for (int rank = 0; rank < ranks; ++rank) {
      init_rank(comms + rank, ranks, id, rank, devices == nullptr ? rank : devices[rank], nullptr);
    }
    return end_group();
  });
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* new_comm, ncclConfig_t* config) {
  return nccl_api("ncclCommSplit", comm, [&](const std::shared_ptr<Communicator>& parent) {
    bool blocking = true;
    const ncclResult_t wrong = check_config(config, &blocking);
    if (wrong != ncclSuccess) return wrong;
    if (new_comm == nullptr || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) {
      return nccl_fault(ncclInvalidArgument, "new communicator is NULL, or the color negative");
    }
    *new_comm = nullptr;
    Split split{parent, new_comm, color, key, blocking, {}};
    if (!make_unique_id(&split.id)) return nccl_fault(ncclSystemError, "memfd_create failed");
    return run_or_collect({[split] { return split.parent->post_color(split.color, split.key, split.id); },
                           [split] { return finish_split(split); }});
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return nccl_api("ncclCommFinalize", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    communicator->drain();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return nccl_api_free("ncclCommDestroy", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    communicator->drain();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return nccl_api_free("ncclCommAbort", comm, [&](const std::shared_ptr<Communicator>& communicator) {
    communicator->abort();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupStart() {
  return nccl_api("ncclGroupStart", current_device(), [] {
    start_group();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupEnd() {
  return nccl_api("ncclGroupEnd", current_device(), [] { return end_group(); });
}

}  // extern "C"
