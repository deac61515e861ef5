// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/errand.hpp"
#include "transport/nccl/deadline.hpp"
#include "transport/nccl/library.hpp"

namespace tokavg::nccl {

// This rank's end of an NCCL communicator, the caller's or one of our own.
//
// Sums are enqueued from the context's thread alone, in the order of its calls. An abort may come from any thread, at
// any time, also while a call is stuck: then it is what gets it unstuck.
class Communicator : public std::enable_shared_from_this<Communicator> {
 public:
  enum class Owner { kCaller, kTokavg };

  Communicator(std::shared_ptr<const Library> library, ncclComm_t comm, Owner owner, int device);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;  // one of our own was ended before, or is left to the process

  // A communicator of the caller's: which GPU it is on is for NCCL to say.
  static std::shared_ptr<Communicator> lent(const std::shared_ptr<const Library>& library, ncclComm_t comm);

  // Asks NCCL who this is. Before anything else.
  void introduce();

  [[nodiscard]] const std::shared_ptr<const Library>& library() const noexcept { return library_; }
  [[nodiscard]] ncclComm_t get() const noexcept { return comm_; }
  [[nodiscard]] bool is_ours() const noexcept { return owner_ == Owner::kTokavg; }
  [[nodiscard]] std::int32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::int32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] int device() const noexcept { return device_; }

  // Enqueues a sum in place. A communicator that was made non-blocking may take until `end` to enqueue it.
  void all_reduce(std::uint64_t* words, std::size_t n_words, cudaStream_t stream, Clock::time_point end);

  // Throws what NCCL has failed with meanwhile. Any thread, and never waits: of a call that is under way just now it
  // does not know yet.
  void check_health();
  // The same for one who believes that a sum is complete: the streams of a failed communicator go on too, with
  // worthless sums. The context's thread.
  void check_sums();

  // Ends it with everything that is enqueued on it, so that streams drain. Whoever comes first ends it, once: NCCL
  // frees the communicator, a lent one too. The first never waits, the others do and belong into errands.
  void abort() noexcept;
  void abort_here() noexcept;
  // Ends it together with the other ranks.
  void destroy_here() noexcept;
  [[nodiscard]] bool usable() const noexcept { return state_.load() == State::kUsable; }

 private:
  enum class State { kUsable, kEnding, kEnded };
  class Call;

  void end(bool together) noexcept;
  void ask_for_errors();
  [[noreturn]] void fail_ended() const;

  const std::shared_ptr<const Library> library_;
  const ncclComm_t comm_;
  const Owner owner_;
  const int device_;
  std::int32_t rank_ = 0;
  std::int32_t ranks_ = 1;

  std::atomic<State> state_ = State::kUsable;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool in_call_ = false;  // under the mutex
};

// For texts, of a lent communicator that was aborted.
inline constexpr char kObituary[] = "config.comm was aborted: do not use or destroy that ncclComm_t any more";

// Polls a call that returned ncclInProgress, as those of non-blocking communicators do, until it has ended, and returns
// what it ended with; ncclInProgress when that is not before `end`.
ncclResult_t settle(const Library& library, ncclComm_t comm, ncclResult_t result, Clock::time_point end);

}  // namespace tokavg::nccl
