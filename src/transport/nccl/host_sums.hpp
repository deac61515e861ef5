// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/cuda/own_stream.hpp"
#include "transport/nccl/communicator.hpp"
#include "transport/nccl/gpu.hpp"
#include "transport/transport.hpp"

namespace tokavg::nccl {

// Sums of host memory: there and back over the GPU, on a stream of our own, which sums in stream order use too: so both
// are waited for before a lent communicator is aborted, or anything freed.
//
// All memory is there from the start: allocating waits for the GPU, on which the very all-reduce may be running that
// waits for another rank. Freeing waits too; it is for an errand (retire).
class HostSums : public std::enable_shared_from_this<HostSums> {
 public:
  // No sum will be longer than max_words.
  HostSums(std::shared_ptr<Communicator> communicator, std::size_t max_words);
  ~HostSums();
  HostSums(const HostSums&) = delete;
  HostSums& operator=(const HostSums&) = delete;

  [[nodiscard]] Communicator& communicator() const noexcept { return *communicator_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return belongings_->stream.get(); }  // before it is retired

  // A sum whose words nobody reads, so that no later one finds connections missing: NCCL makes them when it first uses
  // an algorithm, and waits on the host for the other ranks meanwhile. Before the first start.
  void warm_up(Clock::time_point end);

  std::unique_ptr<Reduction> start(std::span<std::uint64_t> words);

  // No further sums, and those in flight are given up: of our own communicator at once, while the caller's is aborted
  // only if a sum on it is still unfinished a second later. Never blocks; any thread.
  void give_up() noexcept;
  // The same, at once for the caller's too.
  void abort() noexcept;

  // What retire does. It may wait for the GPU.
  void end_here(bool together) noexcept;

 private:
  class Sum;
  struct Slot {
    std::uint64_t* on_gpu;
    std::uint64_t* on_host;
    Event done;
    bool in_use = false;
  };
  struct Belongings {
    Belongings(int device, std::size_t slot_words);
    static void free_here(Belongings* belongings) noexcept;
    const int device;
    bool stay = false;                // until the process ends
    Belongings* next_left = nullptr;  // of those that stay
    cuda::OwnStream stream;
    Words words;
    std::vector<Slot> slots;
  };

  std::shared_ptr<Belongings> belongings();
  Slot& take_slot(Belongings& belongings);
  void enqueue(const Slot& slot, std::size_t n_words, cudaStream_t stream);
  bool idle() noexcept;
  void drain_here() noexcept;

  const std::shared_ptr<Communicator> communicator_;
  const std::size_t slot_words_;
  std::shared_ptr<Belongings> belongings_;  // also an errand's that was left behind, until it comes back
  std::mutex freeing_;                      // of the pointer, against other threads
  std::atomic<bool> given_up_ = false;
};

// Ends the sums and the communicator, one of our own together with the other ranks or alone, in an errand that it waits
// for no longer than `patience`.
void retire(const std::shared_ptr<HostSums>& sums, bool together, std::chrono::milliseconds patience) noexcept;

}  // namespace tokavg::nccl
