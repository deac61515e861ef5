// SPDX-License-Identifier: Apache-2.0
#include "transport/threads/group.hpp"

#include <utility>

#include "base/error.hpp"
#include "transport/rank_list.hpp"
#include "transport/thread_group.hpp"

namespace tokavg {

std::shared_ptr<void> make_thread_group(std::int32_t ranks) { return std::make_shared<threads::Group>(ranks); }

namespace threads {
namespace {

std::vector<std::int32_t> missing_ranks(const Sum& sum) {
  std::vector<std::int32_t> missing;
  for (std::size_t rank = 0; rank < sum.arrived.size(); ++rank) {
    if (!sum.arrived[rank]) missing.push_back(static_cast<std::int32_t>(rank));
  }
  return missing;
}

}  // namespace

Sum::Sum(std::uint64_t which, std::size_t n_ranks, std::span<const std::uint64_t> first)
    : number(which), words(first.size(), 0), arrived(n_ranks, false), n_missing(n_ranks) {}

std::shared_ptr<Sum> Channel::join(std::int32_t rank, std::uint64_t number, std::span<const std::uint64_t> words) {
  const std::lock_guard lock(mutex_);
  if (has_failed()) throw_failure();
  std::shared_ptr<Sum>& slot = open_sums_[number];
  if (slot == nullptr) slot = std::make_shared<Sum>(number, static_cast<std::size_t>(ranks_), words);
  std::shared_ptr<Sum> sum = slot;
  if (sum->words.size() != words.size()) {
    fail_locked(TOKAVG_ERR_DESYNC, format("rank %d sums %zu words where the ranks before it summed %zu", rank,
                                          words.size(), sum->words.size()));
    throw_failure();
  }
  for (std::size_t i = 0; i < words.size(); ++i) sum->words[i] += words[i];
  sum->arrived[static_cast<std::size_t>(rank)] = true;
  if (--sum->n_missing == 0) {
    open_sums_.erase(number);
    sum->complete.store(true, std::memory_order_release);
  }
  return sum;
}

void Channel::fail_locked(tokavg_status_t status, std::string text) {
  status_ = status;
  text_ = std::move(text);
  failed_.store(true, std::memory_order_release);
}

void Channel::throw_failure() const { throw Error(status_, text_); }

std::vector<std::int32_t> Channel::time_out(const Sum& sum) {
  const std::lock_guard lock(mutex_);
  if (has_failed()) return late_;
  // The last rank came between the caller's last look and now; nobody else will ever hear of this deadline.
  if (sum.n_missing == 0) return {};
  late_ = missing_ranks(sum);
  fail_locked(TOKAVG_ERR_TIMEOUT, name_ranks(late_) + " did not arrive before the deadline");
  return late_;
}

void Channel::abort(std::int32_t rank) {
  const std::lock_guard lock(mutex_);
  if (!has_failed())
    fail_locked(TOKAVG_ERR_ABORTED,
                format("tokavg_abort was called on rank %d, or it failed for a reason of its own", rank));
}

std::string Channel::describe(const Sum& sum) const {
  const std::lock_guard lock(mutex_);
  if (sum.n_missing == 0) return "done";
  return "waits for " + name_ranks(missing_ranks(sum));
}

Group::Group(std::int32_t ranks) : ranks_(ranks) {
  constexpr std::int32_t kMostRanks = 65536;
  if (ranks < 1 || ranks > kMostRanks) {
    fail(TOKAVG_ERR_ARGUMENT, "ranks is %d; a group of threads has 1 to %d", ranks, kMostRanks);
  }
  next_channel_.resize(static_cast<std::size_t>(ranks));
}

std::shared_ptr<Channel> Group::open(std::int32_t rank) {
  if (rank < 0 || rank >= ranks_) {
    fail(TOKAVG_ERR_CONFIG, "config.comm_rank is %d; the group of threads has ranks 0 to %d", rank, ranks_ - 1);
  }
  const std::lock_guard lock(mutex_);
  const std::int64_t index = next_channel_[static_cast<std::size_t>(rank)];
  Slot& slot = opening_[index];
  if (slot.channel == nullptr) slot.channel = std::make_shared<Channel>(index, ranks_);
  std::shared_ptr<Channel> channel = slot.channel;
  next_channel_[static_cast<std::size_t>(rank)] = index + 1;
  if (++slot.opened_by == ranks_) opening_.erase(index);
  return channel;
}

}  // namespace threads
}  // namespace tokavg
