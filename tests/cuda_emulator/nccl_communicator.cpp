// SPDX-License-Identifier: Apache-2.0
#include "cuda_emulator/nccl_communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "cuda_emulator/nccl_order.hpp"
#include "cuda_emulator/report.hpp"

// Making communicators and taking them apart.
namespace cuda_emulator {
namespace {

thread_local std::string last_error;
std::atomic<std::size_t> reductions_alive{0};

bool may_share_devices() {
  const char* text = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  return text != nullptr && std::strcmp(text, "1") == 0;
}

}  // namespace

Handles<ncclComm_t, Communicator>& communicators() {
  static Handles<ncclComm_t, Communicator>& all = *new Handles<ncclComm_t, Communicator>;
  return all;
}

void set_nccl_error(const std::string& text) { last_error = text; }
const char* nccl_error() { return last_error.c_str(); }

Communicator::~Communicator() { reductions_alive -= reductions_.size(); }

void Communicator::end() {
  if (segment_ != nullptr) note_ended(device_, segment_->token());
}

ncclResult_t Communicator::join(const ncclUniqueId& id) {
  ncclResult_t why = ncclSuccess;
  segment_ = Segment::open(id, ranks_, &why);
  if (segment_ == nullptr) {
    set_nccl_error("unique id unknown, or used with another number of ranks");
    return why;
  }
  note_created(device_, segment_->token());
  own().process = getpid();
  own().device = device_;
  if (own().present.exchange(1) != 0) {
    set_nccl_error("two ranks with the same number");
    return ncclInvalidUsage;
  }
  segment_->ring();
  return ncclSuccess;
}

ncclResult_t Communicator::meet(const ncclUniqueId& id) {
  const bool complete = segment_->wait(aborted_, [this] {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (segment_->rank(rank).present == 0) return false;
    }
    return true;
  });
  if (!complete) return ncclInternalError;
  close_unique_id(id);
  for (int rank = 0; rank < ranks_ && !may_share_devices(); ++rank) {
    if (rank == rank_ || segment_->rank(rank).device != device_) continue;
    set_nccl_error("Duplicate GPU detected: two ranks on device " + std::to_string(device_));
    warn("NCCL: ranks %d and %d are both on device %d", rank_, rank, device_);
    return ncclInvalidUsage;
  }
  set_state(ncclSuccess);
  return ncclSuccess;
}

bool Communicator::all_reached(std::atomic<std::uint64_t> SharedRank::*counter, std::uint64_t step) {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (segment_->rank(rank).*counter < step) return false;
  }
  return true;
}

ncclResult_t Communicator::post_color(int color, int key, const ncclUniqueId& id) {
  const std::uint64_t before = split_step_++;
  if (!segment_->wait(aborted_, [&] { return all_reached(&SharedRank::split_taken, before); })) {
    return ncclInternalError;
  }
  own().color = color;
  own().key = key;
  own().id = id;
  own().split_posted = split_step_;
  segment_->ring();
  return ncclSuccess;
}

ncclResult_t Communicator::read_colors(int color, Group* group) {
  if (!segment_->wait(aborted_, [this] { return all_reached(&SharedRank::split_posted, split_step_); })) {
    return ncclInternalError;
  }
  std::vector<std::pair<int, int>> members;  // key, rank here
  for (int rank = 0; rank < ranks_; ++rank) {
    if (segment_->rank(rank).color == color) members.emplace_back(segment_->rank(rank).key, rank);
  }
  std::sort(members.begin(), members.end());
  group->ranks = static_cast<int>(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members[i].second == rank_) group->rank = static_cast<int>(i);
  }
  group->id = segment_->rank(members[0].second).id;
  own().split_taken = split_step_;
  segment_->ring();
  return ncclSuccess;
}

void Communicator::drain() {
  Locked locked(lock_);
  locked.wait(changed_, [this] { return aborted_ ? !running_ : finished_ == issued_; });
}

void Communicator::abort() {
  aborted_ = true;
  {
    const Locked locked(lock_);
    changed_.notify_all();
  }
  if (segment_ != nullptr) segment_->ring();
  drain();
}

ncclResult_t Communicator::add_reduction(PreMulSum reduction, ncclRedOp_t* op) {
  const Locked locked(lock_);
  *op = static_cast<ncclRedOp_t>(next_reduction_);
  reductions_[next_reduction_++] = std::make_shared<const PreMulSum>(std::move(reduction));
  ++reductions_alive;
  return ncclSuccess;
}

ncclResult_t Communicator::remove_reduction(ncclRedOp_t op) {
  const Locked locked(lock_);
  if (reductions_.erase(op) == 0) return ncclInvalidArgument;
  --reductions_alive;
  return ncclSuccess;
}

std::shared_ptr<const PreMulSum> Communicator::reduction(ncclRedOp_t op) {
  const Locked locked(lock_);
  const auto found = reductions_.find(op);
  return found == reductions_.end() ? nullptr : found->second;
}

std::size_t Communicator::living_reductions() { return reductions_alive; }

}  // namespace cuda_emulator
