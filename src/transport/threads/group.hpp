// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "tokavg/status.h"

namespace tokavg::threads {

// One sum: the ranks that have come so far have added their words. Freed with the last rank that holds it.
struct Sum {
  Sum(std::uint64_t which, std::size_t n_ranks, std::span<const std::uint64_t> first);

  const std::uint64_t number;
  std::vector<std::uint64_t> words;  // under the channel's mutex until complete, constant afterwards
  std::vector<bool> arrived;         // by rank
  std::size_t n_missing;
  std::atomic<bool> complete = false;
};

// What the ranks of one context share. A failure is final, and the first one stays.
class Channel {
 public:
  Channel(std::int64_t index, std::int32_t ranks) : index_(index), ranks_(ranks) {}

  [[nodiscard]] std::int64_t index() const noexcept { return index_; }
  [[nodiscard]] std::int32_t ranks() const noexcept { return ranks_; }

  // Adds this rank's words to sum `number`. Throws what the channel failed with.
  std::shared_ptr<Sum> join(std::int32_t rank, std::uint64_t number, std::span<const std::uint64_t> words);

  [[nodiscard]] bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  [[noreturn]] void throw_failure() const;

  // A deadline has passed in this sum: the channel fails, and the list of those missing now is everybody's.
  std::vector<std::int32_t> time_out(const Sum& sum);
  void abort(std::int32_t rank);

  [[nodiscard]] std::string describe(const Sum& sum) const;

 private:
  void fail_locked(tokavg_status_t status, std::string text);

  const std::int64_t index_;
  const std::int32_t ranks_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Sum>> open_sums_;  // not all ranks have come
  std::atomic<bool> failed_ = false;                         // set last; the three below are constant from then on
  tokavg_status_t status_ = TOKAVG_OK;
  std::string text_;
  std::vector<std::int32_t> late_;
};

// Ranks that are threads of this process. Each rank's k-th context is on channel k, so contexts are made in the same
// order on all ranks, as with MPI communicators.
class Group : public std::enable_shared_from_this<Group> {
 public:
  // 1 to 65536 ranks, or Error(TOKAVG_ERR_ARGUMENT).
  explicit Group(std::int32_t ranks);

  [[nodiscard]] std::int32_t ranks() const noexcept { return ranks_; }

  // This rank's next channel; never waits for the others. Throws Error(TOKAVG_ERR_CONFIG) when rank is out of range.
  std::shared_ptr<Channel> open(std::int32_t rank);

 private:
  struct Slot {
    std::shared_ptr<Channel> channel;
    std::int32_t opened_by = 0;
  };

  const std::int32_t ranks_;
  std::mutex mutex_;
  std::vector<std::int64_t> next_channel_;  // by rank
  // Channels that not all ranks have opened: who comes late must find what the others left there, a failure above all,
  // even when they are gone. Afterwards the transports alone keep a channel.
  std::map<std::int64_t, Slot> opening_;
};

}  // namespace tokavg::threads
