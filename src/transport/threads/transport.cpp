// SPDX-License-Identifier: Apache-2.0
// Ranks are threads of one process.
#include "transport/transport.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "transport/threads/group.hpp"

namespace tokavg::threads {
namespace {

class ThreadsReduction final : public Reduction {
 public:
  ThreadsReduction(std::shared_ptr<Channel> channel, std::span<std::uint64_t> words)
      : channel_(std::move(channel)), words_(words) {}

  void join(std::int32_t rank, std::uint64_t number) { sum_ = channel_->join(rank, number, words_); }

  bool test() override {
    if (sum_ == nullptr) return true;
    // In this order: once the channel has failed no sum completes any more, so that what is read next is final and a
    // sum that was complete before counts on all ranks or on none.
    const bool failed = channel_->has_failed();
    if (sum_->complete.load(std::memory_order_acquire)) {
      std::copy(sum_->words.begin(), sum_->words.end(), words_.begin());
      sum_.reset();
      return true;
    }
    if (failed) channel_->throw_failure();
    return false;
  }

  std::vector<std::int32_t> late_ranks() override {
    return sum_ == nullptr ? std::vector<std::int32_t>() : channel_->time_out(*sum_);
  }

  [[nodiscard]] std::string describe() const override { return sum_ == nullptr ? "done" : channel_->describe(*sum_); }

 private:
  const std::shared_ptr<Channel> channel_;
  std::shared_ptr<Sum> sum_;  // given back as soon as its words are copied
  const std::span<std::uint64_t> words_;
};

class ThreadsTransport final : public Transport {
 public:
  ThreadsTransport(std::shared_ptr<Group> group, std::int32_t rank)
      : group_(std::move(group)), channel_(group_->open(rank)), rank_(rank) {}

  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] std::int32_t ranks() const override { return channel_->ranks(); }

  std::unique_ptr<Reduction> start(std::span<std::uint64_t> words) override {
    auto reduction = std::make_unique<ThreadsReduction>(channel_, words);
    // Last: once the others have these words this rank must not fail.
    reduction->join(rank_, next_sum_);
    ++next_sum_;
    return reduction;
  }

  void abort() override { channel_->abort(rank_); }
  [[nodiscard]] bool progresses() const override { return true; }
  [[nodiscard]] bool abort_from_any_thread() const override { return true; }

  // The others may still be copying their last sum; they hold it themselves.
  void close() override {}

  [[nodiscard]] std::string describe() const override {
    return format(R"({"transport":"threads","rank":%d,"ranks":%d,"channel":%lld})", rank_, ranks(),
                  static_cast<long long>(channel_->index()));
  }

 private:
  const std::shared_ptr<Group> group_;
  const std::shared_ptr<Channel> channel_;
  const std::int32_t rank_;
  std::uint64_t next_sum_ = 0;
};

bool serves(std::int32_t comm_kind, std::int32_t transport) {
  return comm_kind == TOKAVG_COMM_THREADS && transport == TOKAVG_TRANSPORT_AUTO;
}

std::unique_ptr<Transport> open(const TransportOptions& options) {
  if (options.comm == nullptr) {
    fail(TOKAVG_ERR_CONFIG, "config.comm is NULL; with TOKAVG_COMM_THREADS it is a tokavg_threads_t*");
  }
  // The config lends the group as const void*, as all communicators; the group itself is never constant.
  auto* group = static_cast<Group*>(const_cast<void*>(options.comm));
  return std::make_unique<ThreadsTransport>(group->shared_from_this(), options.comm_rank);
}

std::string describe() { return R"({"transport":"threads"})"; }

}  // namespace

extern const TransportFactory kFactory;
const TransportFactory kFactory = {"threads", serves, open, describe};

}  // namespace tokavg::threads
