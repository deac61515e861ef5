// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/nccl_order.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include "cuda_emulator/lock.hpp"
#include "cuda_emulator/settings.hpp"

namespace cuda_emulator {
namespace {

struct Issues {
  Lock lock;
  std::map<int, std::vector<OperationShape::Issued>> devices;  // the one issued last is last
};

Issues& issues() {
  static Issues& only = *new Issues;
  return only;
}

// The counts of several ranks that share a device would be mixed up.
bool ranks_share_devices() {
  const char* text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

}  // namespace

void note_created(int device, std::uint64_t communicator) {
  const Locked locked(issues().lock);
  issues().devices[device].push_back({communicator, 0});
}

void note_ended(int device, std::uint64_t communicator) {
  const Locked locked(issues().lock);
  std::erase_if(issues().devices[device], [&](const auto& one) { return one.communicator == communicator; });
}

void note_issued(int device, std::uint64_t communicator, OperationShape* shape) {
  if (!settings().check_order || ranks_share_devices()) return;
  const Locked locked(issues().lock);
  std::vector<OperationShape::Issued>& all = issues().devices[device];
  auto own = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.communicator == communicator; });
  if (own == all.end()) return;
  ++own->operations;
  std::rotate(own, own + 1, all.end());
  const std::size_t others = std::min(all.size() - 1, shape->issued.size());
  for (std::size_t i = 0; i < others; ++i) shape->issued[i] = all[all.size() - 2 - i];
}

bool same_order(const OperationShape& mine, const OperationShape& theirs) {
  for (const OperationShape::Issued& one : mine.issued) {
    for (const OperationShape::Issued& other : theirs.issued) {
      const bool both = one.communicator != 0 && one.communicator == other.communicator;
      if (both && one.operations != other.operations) return false;
    }
  }
  return true;
}

}  // namespace cuda_emulator
